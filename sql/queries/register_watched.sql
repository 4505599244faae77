-- Note that a table is watched, as number %(id)s, or under which name by now.
INSERT INTO stepwell_log.tables (relation, id, schema_name, table_name, shadow, system_identifier)
OVERRIDING SYSTEM VALUE
VALUES (%(oid)s::oid::regclass, %(id)s, %(schema)s, %(name)s, %(shadow)s, (SELECT system_identifier FROM pg_control_system()))
ON CONFLICT (relation) DO UPDATE
SET schema_name = excluded.schema_name, table_name = excluded.table_name, shadow = excluded.shadow,
    system_identifier = excluded.system_identifier
