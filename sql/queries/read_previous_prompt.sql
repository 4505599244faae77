-- The model call before step %(number)s of the same agent, and each step that its prompt is put together with.
-- Payloads are read of those only: sorting reads none. One that is too large is not, as in read_step. Of step %(known)s nothing is read but that it is this one.
WITH RECURSIVE absent AS (
    SELECT NULL::jsonb AS input_exact, NULL::text AS agent, NULL::int AS input_base, NULL::int AS input_keep,
           NULL::text AS input_list, NULL::jsonb AS input_removed
), chain AS (
    SELECT step.*
    FROM absent
    CROSS JOIN LATERAL (
        SELECT step_number, CASE WHEN is_other AND given.read THEN input END::text,
               CASE WHEN is_other AND given.read THEN input_exact END::text,
               CASE WHEN is_other THEN input_base END, input_keep, input_list, input_removed::text,
               CASE WHEN is_other AND NOT given.read THEN given.bytes END
        FROM agent_steps
        CROSS JOIN LATERAL (SELECT %(known)s::int IS DISTINCT FROM step_number AS is_other) AS kind
        CROSS JOIN LATERAL (
            -- OFFSET 0 has it worked out once. `#> '{}'` is the value itself, unpacked: its size as it is in memory.
            SELECT bytes, CASE WHEN bytes > %(most)s THEN false
                               WHEN bytes <= %(surely)s THEN true
                               ELSE pg_column_size(input #> '{}') + coalesce(pg_column_size(input_exact #> '{}'), 0)
                                    <= %(longest)s END AS read
            FROM (SELECT coalesce(pg_column_size(input), 0) + coalesce(pg_column_size(input_exact), 0)) AS stored (bytes)
            OFFSET 0
        ) AS given
        WHERE run_id = %(run_id)s AND step_number < %(number)s AND step_type = 'llm_call'
          AND (agent = %(agent)s::text OR (agent IS NULL AND %(agent)s IS NULL))
          AND step_number = (
              SELECT step_number
              FROM agent_steps
              WHERE run_id = %(run_id)s AND step_number < %(number)s AND step_type = 'llm_call'
                AND (agent = %(agent)s OR (agent IS NULL AND %(agent)s IS NULL))
              ORDER BY step_number DESC
              LIMIT 1
          )
        ORDER BY id DESC
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
