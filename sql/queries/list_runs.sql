-- A page of runs, newest first, after the one that started at %(started)s: all, or those that store/filters.py tells.
-- A recorder holds an advisory lock on the first eight bytes of the id of each run that it has open, or where it cannot
-- keeps the run's heartbeat younger than %(patience)s seconds, by the server's clock. A column that agent_runs lacks
-- resolves to the NULL of `absent`.
WITH alive AS MATERIALIZED (
    SELECT (classid::bigint << 32) | objid::bigint AS key
    FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
), page AS (
    SELECT run.*
    FROM (
        SELECT NULL::timestamptz AS heartbeat, NULL::bigint AS system_identifier, NULL::int AS timeline,
               NULL::uuid AS parent_run_id, NULL::int AS forked_at_step
    ) AS absent
    CROSS JOIN LATERAL (
        SELECT run_id, name, tags, steps, steps - finished AS unfinished, agents, started_at, finished_at,
               CASE WHEN error IS NOT NULL
                    THEN concat_ws(': ', error ->> 'type', nullif(error ->> 'message', '')) END AS error,
               loop, source, system_identifier, timeline, parent_run_id, forked_at_step, state.status
        FROM agent_runs
        CROSS JOIN LATERAL (
            SELECT CASE WHEN status = 'running' AND NOT pg_is_in_recovery()
                         AND (heartbeat IS NULL OR heartbeat < now() - make_interval(secs => %(patience)s))
                         AND ('x' || left(replace(run_id::text, '-', ''), 16))::bit(64)::bigint
                             NOT IN (SELECT key FROM alive)
                        THEN 'died' ELSE coalesce(status, 'unknown') END AS status
        ) AS state
        WHERE (%(started)s::timestamptz IS NULL OR (started_at, run_id) < (%(started)s, %(run_id)s::uuid))
          AND (%(whole)s OR name = ANY(%(names)s::text[]) OR name ILIKE '%%' || %(pattern)s::text || '%%'
               OR run_id BETWEEN %(first)s::uuid AND %(last)s::uuid)
          AND (NOT %(failed)s OR (agent_runs.status <> 'ok' AND state.status IN ('failed', 'died')))
        ORDER BY started_at DESC, run_id DESC
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
ORDER BY started_at DESC, run_id DESC
