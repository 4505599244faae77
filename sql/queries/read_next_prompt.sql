-- The first model call after step %(number)s of the same agent, and each step that its prompt is put together with.
-- Payloads are read of those only: sorting reads none. Of a very large one nothing is: nobody would look through it.
WITH RECURSIVE absent AS (
    SELECT NULL::jsonb AS input_exact, NULL::text AS agent, NULL::int AS input_base, NULL::int AS input_keep,
           NULL::text AS input_list, NULL::jsonb AS input_removed
), chain AS (
    SELECT step.*
    FROM absent
    CROSS JOIN LATERAL (
        SELECT step_number, CASE WHEN pg_column_size(input) < 1000000 THEN input END::text,
               input_exact::text, input_base, input_keep, input_list, input_removed::text
        FROM agent_steps
        WHERE run_id = %(run_id)s AND step_number > %(number)s AND step_type = 'llm_call'
          AND (agent = %(agent)s::text OR (agent IS NULL AND %(agent)s IS NULL))
          AND step_number = (
              SELECT step_number
              FROM agent_steps
              WHERE run_id = %(run_id)s AND step_number > %(number)s AND step_type = 'llm_call'
                AND (agent = %(agent)s OR (agent IS NULL AND %(agent)s IS NULL))
              ORDER BY step_number
              LIMIT 1
          )
        ORDER BY id
        LIMIT 1
    ) AS step (number, plain, exact, base, keep, list, removed)
    UNION ALL
    SELECT step.*
    FROM chain
    CROSS JOIN absent
    CROSS JOIN LATERAL (
        SELECT step_number, CASE WHEN pg_column_size(input) < 1000000 THEN input END::text,
               input_exact::text, input_base, input_keep, input_list, input_removed::text
        FROM agent_steps
        WHERE run_id = %(run_id)s AND step_number = chain.base AND step_number < chain.number
        ORDER BY id
        LIMIT 1
    ) AS step (number, plain, exact, base, keep, list, removed)
)
SELECT number, plain, exact, base, keep, list, removed
FROM chain
