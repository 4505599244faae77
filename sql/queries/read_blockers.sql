-- Which backends a deferrable transaction of backend %(pid)s waits for; whose they are is for their own role to see.
SELECT pid, coalesce(nullif(application_name, ''), backend_type, 'another session') AS who
FROM unnest(pg_safe_snapshot_blocking_pids(%(pid)s)) AS blocker (pid)
JOIN pg_stat_activity USING (pid)
