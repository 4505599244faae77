-- Other tables that were watched under the name of table %(oid)s: `now` is what they are called, NULL where they are gone.
SELECT t.relation::oid AS oid, t.id, t.schema_name AS schema, t.table_name AS name, t.shadow, NULL AS triggers,
       (SELECT ARRAY[n.nspname::text, c.relname::text]
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = t.relation) AS now
FROM stepwell_log.tables t
WHERE t.schema_name = %(schema)s AND t.table_name = %(name)s AND t.relation <> %(oid)s::oid::regclass
