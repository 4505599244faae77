-- The steps of a run without their payloads, a column of them in each value, in order: those after step %(after)s,
-- those in %(numbers)s, and of those in %(unfinished)s the ones that have finished by now.
-- Numbers are joined in binary, texts in UTF-8 with a byte 0 between them, which no text holds. NULLs are left out:
-- `known` tells them, two bytes a step. Without %(details)s come no columns that no list of steps on a screen needs.
-- Without %(repeated)s steps with one number come in any order, and those of an index need not be sorted.
-- A column that agent_steps lacks resolves to the NULL of `absent`, so a table of eight columns reads as well.
SELECT count(*) AS steps,
       string_agg(int2send((
           CASE WHEN step.has_output THEN 1 ELSE 0 END
           + CASE WHEN step.agent IS NULL THEN 0 ELSE 2 END
           + CASE WHEN step.name IS NULL THEN 0 ELSE 4 END
           + CASE WHEN step.error IS NULL THEN 0 ELSE 8 END
           + CASE WHEN step.parent_step IS NULL THEN 0 ELSE 16 END
           + CASE WHEN step.started_at IS NULL THEN 0 ELSE 32 END
           + CASE WHEN step.finished_at IS NULL THEN 0 ELSE 64 END
           + CASE WHEN step.created IS NULL THEN 0 ELSE 128 END
           + CASE WHEN step.call_hash IS NULL THEN 0 ELSE 256 END
           + CASE WHEN NOT %(details)s THEN 0 ELSE
                 CASE WHEN step.seed IS NULL THEN 0 ELSE 512 END
                 + CASE WHEN step.finished_order IS NULL THEN 0 ELSE 1024 END
                 + CASE WHEN step.tokens_in IS NULL THEN 0 ELSE 2048 END
                 + CASE WHEN step.tokens_out IS NULL THEN 0 ELSE 4096 END
                 + CASE WHEN step.finish_reason IS NULL THEN 0 ELSE 8192 END
             END)::int2), '') AS known,
       string_agg(int8send(step.step_number), '') AS number,
       string_agg(textsend(step.step_type), '\x00') AS type,
       string_agg(textsend(step.agent), '\x00') AS agent,
       string_agg(textsend(step.name), '\x00') AS name,
       string_agg(textsend(step.error), '\x00') AS error,
       string_agg(int8send(step.parent_step), '') AS parent,
       string_agg(timestamptz_send(step.started_at), '') AS started,
       string_agg(timestamptz_send(step.finished_at), '') AS finished,
       string_agg(float8send(step.created), '') AS created,
       string_agg(int8send(step.call_hash), '') AS call_hash,
       string_agg(textsend(step.seed), '\x00') AS seed,
       string_agg(int8send(step.finished_order), '') AS finished_order,
       string_agg(int8send(step.tokens_in), '') AS tokens_in,
       string_agg(int8send(step.tokens_out), '') AS tokens_out,
       string_agg(textsend(step.finish_reason), '\x00') AS finish_reason
FROM (
    SELECT NULL::text AS agent, NULL::text AS name, NULL::int AS parent_step,
           NULL::timestamptz AS started_at, NULL::timestamptz AS finished_at, NULL::int AS finished_order,
           NULL::jsonb AS error, NULL::int AS tokens_in, NULL::int AS tokens_out, NULL::text AS finish_reason,
           NULL::bigint AS call_hash
) AS absent
CROSS JOIN LATERAL (
    SELECT step_number::int8, step_type::text, output IS NOT NULL AS has_output, agent::text, name::text,
           parent_step::int8, started_at, finished_at,
           CASE WHEN error IS NOT NULL
                THEN concat_ws(': ', error ->> 'type', nullif(error ->> 'message', '')) END AS error,
           -- Seconds since 1970, of a time with or without a zone.
           CASE WHEN %(details)s OR started_at IS NULL THEN date_part('epoch', created_at) END AS created,
           CASE WHEN step_type = 'tool_call' AND (output IS NOT NULL OR error IS NOT NULL)
                THEN coalesce(call_hash, hashtextextended(
                     concat_ws(chr(31), name, input::text, output::text, error::text), 0))
           END AS call_hash,
           CASE WHEN %(details)s THEN seed::text END AS seed,
           CASE WHEN %(details)s THEN finished_order::int8 END AS finished_order,
           CASE WHEN %(details)s THEN tokens_in::int8 END AS tokens_in,
           CASE WHEN %(details)s THEN tokens_out::int8 END AS tokens_out,
           CASE WHEN %(details)s THEN finish_reason::text END AS finish_reason
    FROM agent_steps
    WHERE run_id = %(run_id)s
      AND (step_number > %(after)s OR step_number = ANY (%(numbers)s)
           OR (step_number = ANY (%(unfinished)s)
               AND (output IS NOT NULL OR error IS NOT NULL OR finished_at IS NOT NULL)))
    ORDER BY agent_steps.step_number, CASE WHEN %(repeated)s THEN agent_steps.id END
    LIMIT %(limit)s
) AS step
