-- The steps of a run without their payloads: those after step %(after)s, and those named in %(numbers)s.
-- A column that agent_steps lacks resolves to the NULL of `absent`, so a table of eight columns reads as well.
SELECT step.*
FROM (
    SELECT NULL::text AS agent, NULL::text AS name, NULL::int AS parent_step,
           NULL::timestamptz AS started_at, NULL::timestamptz AS finished_at, NULL::int AS finished_order,
           NULL::jsonb AS error, NULL::int AS tokens_in, NULL::int AS tokens_out, NULL::text AS finish_reason,
           NULL::bigint AS call_hash
) AS absent
CROSS JOIN LATERAL (
    SELECT step_number, step_type, output IS NOT NULL AS has_output, created_at, seed, agent, name, parent_step,
           started_at, finished_at, finished_order,
           CASE WHEN error IS NOT NULL
                THEN concat_ws(': ', error ->> 'type', nullif(error ->> 'message', '')) END AS error,
           tokens_in, tokens_out, finish_reason,
           CASE WHEN step_type = 'tool_call' AND (output IS NOT NULL OR error IS NOT NULL)
                THEN coalesce(call_hash, hashtextextended(
                     concat_ws(chr(31), name, input::text, output::text, error::text), 0))
           END AS call_hash
    FROM agent_steps
    WHERE run_id = %(run_id)s AND (step_number > %(after)s OR step_number = ANY (%(numbers)s))
    ORDER BY step_number, id
    LIMIT %(limit)s
) AS step
