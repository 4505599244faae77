-- Every watched table, since when, and how large its log is: exact `rows` only where the log is small and may be read.
-- `added` rows were logged since `counted`, when the server began to count; as far as it has heard, rows that are gone too.
SELECT t.relation::oid AS oid, t.id, t.schema_name AS schema, t.table_name AS name, t.pruned_to::text AS pruned_to,
       (SELECT min(s.at) FROM stepwell_log.shapes s WHERE s.relation = t.relation AND s.why = 'watched') AS since,
       coalesce(pg_table_size(log.oid), 0) AS bytes,
       coalesce(pg_indexes_size(log.oid), 0) AS index_bytes,
       coalesce(pg_stat_get_live_tuples(log.oid), 0) AS rows,
       coalesce(pg_stat_get_tuples_inserted(log.oid), 0) AS added,
       greatest((SELECT min(s.at) FROM stepwell_log.shapes s WHERE s.relation = t.relation AND s.why = 'watched'),
                pg_stat_get_db_stat_reset_time((SELECT oid FROM pg_database WHERE datname = current_database()))) AS counted,
       coalesce(has_table_privilege(log.oid, 'SELECT'), false) AS readable,
       clock_timestamp() AS now,
       pg_get_userbyid(coalesce(c.relowner, log.relowner))::text AS owner,
       c.oid IS NULL AS gone
FROM stepwell_log.tables t
LEFT JOIN pg_class c ON c.oid = t.relation::oid
LEFT JOIN pg_class log ON log.relnamespace = 'stepwell_log'::regnamespace AND log.relname = 't' || t.id
ORDER BY t.schema_name, t.table_name
