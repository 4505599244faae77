-- What is kept of the watched table %(oid)s: the columns that its log has, and the shape in which it was watched last.
SELECT t.id, t.schema_name AS schema, t.table_name AS name, t.shadow, t.system_identifier AS system,
       to_regclass(format('stepwell_log.t%%s', t.id))::oid AS log,
       (SELECT array_agg(a.attname::text) FROM pg_attribute a
        WHERE a.attrelid = to_regclass(format('stepwell_log.t%%s', t.id)) AND a.attname ~ '^a[0-9]+$'
          AND NOT a.attisdropped) AS kept,
       (SELECT jsonb_object_agg(a.attname, format_type(a.atttypid, a.atttypmod)) FROM pg_attribute a
        WHERE a.attrelid = to_regclass(format('stepwell_log.t%%s', t.id)) AND a.attname ~ '^a[0-9]+$'
          AND NOT a.attisdropped) AS types,
       (SELECT s.shape FROM stepwell_log.shapes s WHERE s.relation = t.relation AND s.why = 'watched'
        ORDER BY s.id DESC LIMIT 1) AS shape,
       (SELECT s.shape -> 'columns' FROM stepwell_log.shapes s WHERE s.relation = t.relation
        ORDER BY s.id LIMIT 1) AS first,
       coalesce((SELECT has_table_privilege(f.proowner, to_regclass(format('stepwell_log.t%%s', t.id)), 'INSERT')
                 FROM pg_proc f WHERE f.pronamespace = 'stepwell_log'::regnamespace
                  AND f.proname = format('t%%s_capture', t.id)), false) AS writable,
       (SELECT system_identifier FROM pg_control_system()) AS here
FROM stepwell_log.tables t
WHERE t.relation = %(oid)s::oid::regclass
