-- Runs whose id lies between two, as list_runs gives them.
-- A column that agent_runs lacks resolves to the NULL of `absent`.
WITH page AS (
    SELECT run.*
    FROM (
        SELECT NULL::timestamptz AS heartbeat, NULL::bigint AS system_identifier, NULL::int AS timeline,
               NULL::uuid AS parent_run_id, NULL::int AS forked_at_step
    ) AS absent
    CROSS JOIN LATERAL (
        SELECT run_id, name, tags, steps, steps - finished AS unfinished, agents, started_at, finished_at,
               CASE WHEN error IS NOT NULL
                    THEN concat_ws(': ', error ->> 'type', nullif(error ->> 'message', '')) END AS error,
               loop, source, system_identifier, timeline, parent_run_id, forked_at_step,
               CASE WHEN status = 'running' AND NOT pg_is_in_recovery()
                     AND (heartbeat IS NULL OR heartbeat < now() - make_interval(secs => %(patience)s))
                     AND NOT EXISTS (
                        SELECT FROM pg_locks
                        WHERE locktype = 'advisory' AND objsubid = 1
                          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                          AND (classid::bigint << 32) | objid::bigint
                              = ('x' || left(replace(run_id::text, '-', ''), 16))::bit(64)::bigint)
                    THEN 'died' ELSE coalesce(status, 'unknown') END AS status
        FROM agent_runs
        WHERE run_id BETWEEN %(first)s AND %(last)s
        ORDER BY run_id
        LIMIT %(limit)s
    ) AS run
)
SELECT page.*, open.step_number AS unfinished_number, coalesce(open.name, open.step_type) AS unfinished_name,
       open.started_at AS unfinished_started
FROM page
LEFT JOIN LATERAL (
    SELECT step_number, name, step_type, started_at
    FROM agent_steps
    WHERE page.unfinished > 0 AND run_id = page.run_id AND step_number > page.steps - 200
      AND output IS NULL AND error IS NULL AND finished_at IS NULL
    ORDER BY step_number DESC
    LIMIT 1
) AS open ON true
ORDER BY run_id
