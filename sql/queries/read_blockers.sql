-- Which backends a deferrable transaction waits for; whose they are is for their own role to see. The one that waits
-- is known by a word in its statement: behind a pooler, the process id that its client was told is not the server's.
SELECT other.pid, coalesce(nullif(other.application_name, ''), other.backend_type, 'another session') AS who
FROM pg_stat_activity AS waiting
CROSS JOIN LATERAL unnest(pg_safe_snapshot_blocking_pids(waiting.pid)) AS blocker (pid)
JOIN pg_stat_activity AS other ON other.pid = blocker.pid
WHERE waiting.datname = current_database() AND waiting.pid <> pg_backend_pid()
  AND strpos(waiting.query, %(token)s) > 0
ORDER BY other.xact_start NULLS LAST
LIMIT 1
