-- The watched table of the name %(name)s, and the triggers that log it. One that is gone, or that nothing has the name of by
-- now, goes by the name under which it was watched; `many` tables may have that without its schema. `owner` may take it out.
SELECT count(*) OVER () AS many, t.relation::oid AS oid, t.id, t.schema_name AS schema, t.table_name AS name, t.shadow,
       (SELECT array_agg(ARRAY[n.nspname::text, c.relname::text, g.tgname::text])
        FROM pg_trigger g
        JOIN pg_class c ON c.oid = g.tgrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_proc f ON f.oid = g.tgfoid
        WHERE f.pronamespace = 'stepwell_log'::regnamespace AND g.tgparentid = 0
          AND f.proname IN (format('t%%s_capture', t.id), format('t%%s_truncate', t.id))) AS triggers,
       pg_get_userbyid(coalesce(c.relowner, log.relowner))::text AS owner,
       coalesce(pg_has_role(c.relowner, 'USAGE'),
                pg_has_role(log.relowner, 'USAGE')
                    OR (SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'stepwell_log'), true) AS owned,
       coalesce(has_table_privilege(log.oid, 'SELECT') AND pg_table_size(log.oid) <= %(small)s::bigint, false) AS countable,
       coalesce(pg_stat_get_live_tuples(log.oid), 0) AS entries
FROM stepwell_log.tables t
LEFT JOIN pg_class c ON c.oid = t.relation::oid
LEFT JOIN pg_class log ON log.relnamespace = 'stepwell_log'::regnamespace AND log.relname = 't' || t.id
WHERE t.relation = to_regclass(%(name)s)
   OR (%(name)s IN (t.table_name, t.schema_name || '.' || t.table_name, format('%%I', t.table_name),
                    format('%%I.%%I', t.schema_name, t.table_name))
       AND (to_regclass(%(name)s) IS NULL OR NOT EXISTS (SELECT FROM pg_class WHERE oid = t.relation::oid))
       AND NOT EXISTS (SELECT FROM stepwell_log.tables other WHERE other.relation = to_regclass(%(name)s)))
ORDER BY t.id
LIMIT 1
