-- The tables of runs in this database, in whichever schema, that say which snapshots their steps may ask for; whether this
-- role may read them, and whether it is the one whose runs are pruned here.
SELECT n.nspname::text, c.relname::text, has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'),
       c.oid IS NOT DISTINCT FROM to_regclass('agent_runs')::oid
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'snapshot' AND a.atttypid = 'pg_snapshot'::regtype
WHERE c.relname = 'agent_runs' AND c.relkind IN ('r', 'p') AND NOT a.attisdropped
ORDER BY n.nspname
