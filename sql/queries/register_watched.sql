-- Note that a table is watched, or under which name by now; its number.
INSERT INTO stepwell_log.tables (relation, schema_name, table_name, shadow, system_identifier)
VALUES (%(oid)s::oid::regclass, %(schema)s, %(name)s, %(shadow)s, (SELECT system_identifier FROM pg_control_system()))
ON CONFLICT (relation) DO UPDATE
SET schema_name = excluded.schema_name, table_name = excluded.table_name, shadow = excluded.shadow,
    system_identifier = excluded.system_identifier
RETURNING id
