-- Per agent: how many steps the world holds, the newest finished response and result, tokens, what was
-- running (it finished later) and what has no outcome to this day.
-- Nothing is sorted: the newest by finishing order is found by packing order and number into one bigint, and the
-- numbers of those others come in any order.
SELECT agent,
       count(*) FILTER (WHERE inside) AS steps,
       max(packed) FILTER (WHERE inside AND step_type = 'llm_call') & 4294967295 AS response,
       max(packed) FILTER (WHERE inside AND step_type = 'tool_call') & 4294967295 AS result,
       sum(tokens_in) FILTER (WHERE inside) AS tokens_in,
       sum(tokens_out) FILTER (WHERE inside) AS tokens_out,
       array_agg(step_number) FILTER (WHERE NOT inside AND outcome) AS running,
       array_agg(step_number) FILTER (WHERE NOT inside AND NOT outcome AND finished_at IS NULL) AS unfinished,
       bool_or(finished_order IS NOT NULL) AS ordered,
       count(*) FILTER (WHERE inside AND step_type = 'state_update') AS state_steps
FROM (
    SELECT step.*, coalesce(step.finished_order, step_number)::bigint * 4294967296 + step_number AS packed
    FROM (
        SELECT NULL::text AS agent, NULL::int AS finished_order, NULL::int AS tokens_in, NULL::int AS tokens_out,
               NULL::timestamptz AS finished_at, NULL::jsonb AS error
    ) AS absent
    CROSS JOIN LATERAL (
        SELECT agent, step_number, step_type, finished_order, finished_at, tokens_in, tokens_out,
               finished_order IS NOT NULL OR output IS NOT NULL OR error IS NOT NULL AS outcome,
               CASE WHEN finished_order IS NOT NULL AND %(order)s::int IS NOT NULL THEN finished_order <= %(order)s
                    ELSE (output IS NOT NULL OR error IS NOT NULL) AND step_number <= %(number)s
               END AS inside
        FROM agent_steps
        WHERE run_id = %(run_id)s AND step_number <= %(through)s
    ) AS step
) AS steps
GROUP BY agent
