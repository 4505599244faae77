-- Whether this role is %(role)s itself, and whether that may make things in %(schema)s; NULL where that is not there.
SELECT current_user = %(role)s,
       (SELECT has_schema_privilege(%(role)s, oid, 'CREATE') FROM pg_namespace WHERE nspname = %(schema)s)
