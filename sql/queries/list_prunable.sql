-- The runs that take_prunable.sql would take one after the other, oldest first; how many there are, and with how many
-- steps.
WITH RECURSIVE wanted AS MATERIALIZED (
    SELECT run_id, name, coalesce(status, CASE WHEN parent_run_id IS NULL THEN 'imported' ELSE 'branch' END) AS status,
           steps - coalesce(forked_at_step - 1, 0) AS steps, started_at, heartbeat, finished_at
    FROM agent_runs AS r
    WHERE CASE WHEN %(seconds)s::float8 IS NULL THEN status IN ('ok', 'failed') AND keep = ''
               WHEN status IN ('ok', 'failed') OR status IS NULL AND (parent_run_id IS NOT NULL OR source IS NOT NULL)
               THEN coalesce(finished_at, started_at) < now() - make_interval(secs => %(seconds)s)
               WHEN status = 'running'
               THEN greatest(started_at, heartbeat) < now() - make_interval(secs => %(seconds)s)
                    AND (heartbeat IS NULL OR heartbeat < now() - make_interval(secs => %(patience)s))
                    AND ('x' || left(replace(run_id::text, '-', ''), 16))::bit(64)::bigint NOT IN (
                        SELECT (classid::bigint << 32) | objid::bigint
                        FROM pg_locks
                        WHERE locktype = 'advisory' AND objsubid = 1
                          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
                    AND NOT EXISTS (
                        SELECT FROM (SELECT greatest(s.created_at, s.started_at, s.finished_at) AS seen
                                     FROM agent_steps AS s
                                     WHERE s.run_id = r.run_id
                                     ORDER BY s.step_number DESC
                                     LIMIT 1) AS last
                        WHERE last.seen >= now() - make_interval(secs => %(seconds)s))
               ELSE false END
), held AS ( -- what branches that stay have their steps from
    SELECT parent_run_id AS run_id
    FROM agent_runs AS branch
    WHERE parent_run_id IS NOT NULL AND NOT EXISTS (SELECT FROM wanted WHERE wanted.run_id = branch.run_id)
    UNION
    SELECT parent_run_id FROM held JOIN agent_runs USING (run_id) WHERE parent_run_id IS NOT NULL
)
SELECT run_id, name, status, coalesce(finished_at, heartbeat, started_at) AS seen,
       count(*) OVER () AS runs, sum(steps) OVER () AS steps
FROM wanted
WHERE run_id NOT IN (SELECT run_id FROM held)
ORDER BY started_at, run_id
