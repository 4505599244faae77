-- How many runs died, and how many of these with a step that has no end. As in list_runs.sql, where it is told what lives.
SELECT count(*) AS died, count(*) FILTER (WHERE finished < steps) AS in_doubt
FROM agent_runs
WHERE status = 'running' AND NOT pg_is_in_recovery()
  AND (heartbeat IS NULL OR heartbeat < now() - make_interval(secs => %(patience)s))
  AND ('x' || left(replace(run_id::text, '-', ''), 16))::bit(64)::bigint NOT IN (
      SELECT (classid::bigint << 32) | objid::bigint
      FROM pg_locks
      WHERE locktype = 'advisory' AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
