-- Transactions that have been open for more than %(seconds)s seconds, the oldest first; prepared ones and slots too. Whose
-- they are is for their own role to see.
SELECT coalesce(nullif(application_name, ''), backend_type, 'another session') || ' (pid ' || pid || ')' AS who,
       extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds,
       EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.mode = 'SIReadLock') AS serializable
FROM pg_stat_activity a
WHERE xact_start < clock_timestamp() - make_interval(secs => %(seconds)s) AND pid <> pg_backend_pid()
  AND backend_type NOT IN ('walsender', 'autovacuum worker')
UNION ALL
SELECT 'prepared ' || gid, extract(epoch FROM clock_timestamp() - prepared)::float8, false
FROM pg_prepared_xacts
WHERE prepared < clock_timestamp() - make_interval(secs => %(seconds)s)
ORDER BY 2 DESC
LIMIT 5
