-- Whether this role is %(role)s itself, and whether that may make things in %(schema)s; NULL where that is not there.
SELECT current_user = %(role)s, has_schema_privilege(%(role)s, to_regnamespace(%(schema)s)::oid, 'CREATE')
