-- The input of step %(number)s and, where it is a difference, of each step that it is put together with.
-- Of several rows with one number, the first.
WITH RECURSIVE absent AS (
    SELECT NULL::jsonb AS input_exact, NULL::int AS input_base, NULL::int AS input_keep, NULL::text AS input_list,
           NULL::jsonb AS input_removed
), chain AS (
    SELECT step.*
    FROM absent
    CROSS JOIN LATERAL (
        SELECT step_number, input::text, input_exact::text, input_base, input_keep, input_list, input_removed::text
        FROM agent_steps
        WHERE run_id = %(run_id)s AND step_number = %(number)s
        ORDER BY id
        LIMIT 1
    ) AS step (number, plain, exact, base, keep, list, removed)
    UNION ALL
    SELECT step.*
    FROM chain
    CROSS JOIN absent
    CROSS JOIN LATERAL (
        SELECT step_number, input::text, input_exact::text, input_base, input_keep, input_list, input_removed::text
        FROM agent_steps
        WHERE run_id = %(run_id)s AND step_number = chain.base AND step_number < chain.number
        ORDER BY id
        LIMIT 1
    ) AS step (number, plain, exact, base, keep, list, removed)
)
SELECT number, plain, exact, base, keep, list, removed
FROM chain
