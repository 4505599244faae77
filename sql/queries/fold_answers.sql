-- Per agent, of the steps after %(after)s, and of those in %(loose)s that are not settled: how many the world holds, the newest finished
-- response and result, tokens, what was running (it finished later) and what has no outcome to this day.
-- Nothing is sorted: the newest by finishing order is found by packing order and number into one bigint, and the
-- numbers of those others come in any order.
-- %(through)s, %(order)s, %(number)s: as in fold_state. %(lasts)s: the last numbers of the stretches of those in %(loose)s,
-- which is what a step is settled by: of several with one number some may be. %(any_loose)s: whether there are any, which
-- the planner would not see.
SELECT agent,
       count(*) FILTER (WHERE inside) AS steps,
       max(packed) FILTER (WHERE inside AND step_type = 'llm_call') AS response,
       max(packed) FILTER (WHERE inside AND step_type = 'tool_call') AS result,
       sum(tokens_in) FILTER (WHERE inside) AS tokens_in,
       sum(tokens_out) FILTER (WHERE inside) AS tokens_out,
       array_agg(step_number) FILTER (WHERE NOT inside AND outcome) AS running,
       array_agg(step_number) FILTER (WHERE NOT inside AND NOT outcome AND finished_at IS NULL) AS unfinished,
       bool_or(finished_order IS NOT NULL) AS ordered
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
        WHERE run_id = %(run_id)s
          AND (step_number > %(after)s AND step_number <= %(through)s
               OR %(any_loose)s AND step_number = ANY (%(loose)s)
                  AND NOT ((output IS NOT NULL OR error IS NOT NULL) AND coalesce(finished_order, step_number) <= (
                      SELECT min(last) FROM unnest(%(lasts)s::int8[]) AS stretch (last) WHERE last >= step_number
                  )))
    ) AS step
) AS steps
GROUP BY agent
