-- The logs of watched tables, and whether this role may prune them.
SELECT t.relation::oid AS oid, t.id, t.schema_name AS schema, t.table_name AS name,
       has_table_privilege(log.oid, 'DELETE') AND has_column_privilege(log.oid, 'xid', 'SELECT')
           AND has_column_privilege('stepwell_log.tables', 'pruned_to', 'UPDATE') AS allowed
FROM stepwell_log.tables t
JOIN pg_class log ON log.relnamespace = 'stepwell_log'::regnamespace AND log.relname = 't' || t.id
ORDER BY t.id
