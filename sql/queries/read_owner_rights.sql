-- Whether this role is %(role)s itself, and what it makes is its own: not where the log %(log)s was another owner's before. And
-- whether %(role)s may make things in %(schema)s; NULL where that is not there.
SELECT current_user = %(role)s
           AND NOT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(%(log)s) AND pg_get_userbyid(relowner) <> %(role)s),
       (SELECT has_schema_privilege(%(role)s, oid, 'CREATE') FROM pg_namespace WHERE nspname = %(schema)s)
