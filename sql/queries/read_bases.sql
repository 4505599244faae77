-- The input of step %(number)s and, where it is a difference, of each step that it is put together with.
-- Of several rows with one number, the first. One that is too large is not read, as in read_step; `unread` is its size.
WITH RECURSIVE absent AS (
    SELECT NULL::jsonb AS input_exact, NULL::int AS input_base, NULL::int AS input_keep, NULL::text AS input_list,
           NULL::jsonb AS input_removed
), chain AS (
    SELECT step.*
    FROM absent
    CROSS JOIN LATERAL (
        SELECT step_number, CASE WHEN given.read THEN input END::text, CASE WHEN given.read THEN input_exact END::text,
               input_base, input_keep, input_list, input_removed::text,
               CASE WHEN NOT given.read THEN given.bytes END
        FROM agent_steps
        CROSS JOIN LATERAL (
            -- OFFSET 0 has it worked out once. `#> '{}'` is the value itself, unpacked: its size as it is in memory.
            SELECT bytes, CASE WHEN bytes > %(most)s THEN false
                               WHEN bytes <= %(surely)s THEN true
                               ELSE pg_column_size(input #> '{}') + coalesce(pg_column_size(input_exact #> '{}'), 0)
                                    <= %(longest)s END AS read
            FROM (SELECT coalesce(pg_column_size(input), 0) + coalesce(pg_column_size(input_exact), 0)) AS stored (bytes)
            OFFSET 0
        ) AS given
        WHERE run_id = %(run_id)s AND step_number = %(number)s
        ORDER BY id
        LIMIT 1
    ) AS step (number, plain, exact, base, keep, list, removed, unread)
    UNION ALL
    SELECT step.*
    FROM chain
    CROSS JOIN absent
    CROSS JOIN LATERAL (
        SELECT step_number, CASE WHEN given.read THEN input END::text, CASE WHEN given.read THEN input_exact END::text,
               input_base, input_keep, input_list, input_removed::text,
               CASE WHEN NOT given.read THEN given.bytes END
        FROM agent_steps
        CROSS JOIN LATERAL (
            -- OFFSET 0 has it worked out once. `#> '{}'` is the value itself, unpacked: its size as it is in memory.
            SELECT bytes, CASE WHEN bytes > %(most)s THEN false
                               WHEN bytes <= %(surely)s THEN true
                               ELSE pg_column_size(input #> '{}') + coalesce(pg_column_size(input_exact #> '{}'), 0)
                                    <= %(longest)s END AS read
            FROM (SELECT coalesce(pg_column_size(input), 0) + coalesce(pg_column_size(input_exact), 0)) AS stored (bytes)
            OFFSET 0
        ) AS given
        WHERE run_id = %(run_id)s AND step_number = chain.base AND step_number < chain.number
        ORDER BY id
        LIMIT 1
    ) AS step (number, plain, exact, base, keep, list, removed, unread)
)
SELECT number, plain, exact, base, keep, list, removed, unread
FROM chain
