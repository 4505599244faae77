-- Some runs to delete, oldest first, after the one that began at %(started)s: those that were marked as not worth keeping
-- or, where %(seconds)s is given, all that ended or died so long ago. Their rows are locked; one that somebody else has
-- locked is left out, so nobody is waited for. What is alive is left out, and cannot come to life meanwhile: who takes a
-- run up again needs its row. A run that has branches is left out until they are gone, since they have its steps; they
-- themselves have ended when they were begun, unless somebody goes on with them; so have runs from files, also those of
-- which no file says how they ended. list_prunable.sql lists the same runs.
WITH held AS MATERIALIZED (
    SELECT run_id, started_at, status, steps - coalesce(forked_at_step - 1, 0) AS steps, parent_run_id
    FROM agent_runs AS r
    WHERE (%(started)s::timestamptz IS NULL OR (started_at, run_id) > (%(started)s, %(run_id)s::uuid))
      AND NOT EXISTS (SELECT FROM agent_runs AS branch WHERE branch.parent_run_id = r.run_id)
      AND CASE WHEN %(seconds)s::float8 IS NULL THEN status IN ('ok', 'failed') AND keep = ''
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
    ORDER BY started_at, run_id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), taken AS MATERIALIZED ( -- so many as have not too many steps together, and one at least
    SELECT *
    FROM (SELECT *, sum(steps) OVER (ORDER BY started_at, run_id) - steps AS before FROM held) AS summed
    WHERE before = 0 OR before + steps <= %(most_steps)s
)
SELECT run_id, started_at,
       status IS DISTINCT FROM 'running' OR pg_try_advisory_xact_lock(
           ('x' || left(replace(run_id::text, '-', ''), 16))::bit(64)::bigint) AS free,
       parent_run_id IS NOT NULL AS branch
FROM taken
ORDER BY started_at, run_id
