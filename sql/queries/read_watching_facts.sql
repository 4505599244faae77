-- Of each watched table: as whom its trigger runs, and which roles may read either it or its log and not both. Roles of
-- Postgres's own, and those that prune, are no readers.
SELECT t.id,
       coalesce(r.rolsuper, false) AS as_superuser,
       coalesce(r.rolname = 'stepwell_log_writer' OR r.oid = c.relowner, false) AS as_writer,
       coalesce((SELECT array_agg(DISTINCT coalesce(g.rolname, 'public')::text)
                 FROM (SELECT acl.grantee FROM aclexplode(c.relacl) AS acl WHERE acl.privilege_type = 'SELECT'
                       UNION
                       SELECT acl.grantee FROM aclexplode(log.relacl) AS acl WHERE acl.privilege_type = 'SELECT') AS granted
                 LEFT JOIN pg_roles g ON g.oid = granted.grantee
                 WHERE granted.grantee NOT IN (c.relowner, log.relowner)
                   AND (granted.grantee IN (SELECT a.grantee FROM aclexplode(c.relacl) AS a WHERE a.privilege_type = 'SELECT'))
                       <> (granted.grantee IN (SELECT a.grantee FROM aclexplode(log.relacl) AS a
                                               WHERE a.privilege_type = 'SELECT'))), '{}') AS unmatched
FROM stepwell_log.tables t
LEFT JOIN pg_class c ON c.oid = t.relation::oid
LEFT JOIN pg_class log ON log.relnamespace = 'stepwell_log'::regnamespace AND log.relname = 't' || t.id
LEFT JOIN pg_proc f ON f.pronamespace = 'stepwell_log'::regnamespace AND f.proname = 't' || t.id || '_capture'
LEFT JOIN pg_roles r ON r.oid = f.proowner
ORDER BY t.id
