-- Who has tables to itself that a reader may have waited for: one of Stepwell's own, else the table of anybody that is locked
-- longest.
SELECT l.pid, coalesce(nullif(a.application_name, ''), a.usename, a.backend_type), l.relation::regclass::text
FROM pg_locks l
JOIN pg_stat_activity a ON a.pid = l.pid
JOIN pg_class c ON c.oid = l.relation
WHERE l.granted AND l.mode = 'AccessExclusiveLock' AND l.pid <> pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND c.relkind IN ('r', 'p', 'm') AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)
ORDER BY l.relation IN (to_regclass('agent_steps'), to_regclass('agent_runs')) DESC, a.xact_start
LIMIT 1
