-- The tables and views that this transaction has read so far and still has locked: schema and name, of partitions those of
-- the whole, and whether it is a view.
SELECT DISTINCT n.nspname::text, c.relname::text, c.relkind = 'v'
FROM pg_locks l
CROSS JOIN LATERAL (SELECT coalesce(pg_partition_root(l.relation), l.relation)::oid AS oid) AS root
JOIN pg_class c ON c.oid = root.oid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE l.locktype = 'relation' AND l.pid = pg_backend_pid() AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND c.relkind IN ('r', 'p', 'f', 'm', 'v') AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^stepwell_(log|asof)'
  AND c.oid NOT IN (SELECT own FROM unnest(ARRAY[to_regclass('agent_steps'), to_regclass('agent_runs'),
                                                 to_regclass('stepwell_migrations')]) AS own WHERE own IS NOT NULL)
