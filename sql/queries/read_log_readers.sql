-- To whom the right to read the log %(log)s was given; `public` for everybody.
SELECT DISTINCT coalesce(grantee.rolname, 'public')
FROM pg_class AS log
CROSS JOIN LATERAL aclexplode(log.relacl) AS acl
LEFT JOIN pg_roles AS grantee ON grantee.oid = acl.grantee
WHERE log.oid = to_regclass(%(log)s) AND acl.privilege_type = 'SELECT' AND acl.grantee <> log.relowner
