-- Extensions of which this role may call a function, and whose functions reach out of the transaction: to other servers, to
-- files, to programs, or to jobs that run later; and languages in which functions may do all that.
SELECT e.extname::text
FROM pg_extension e
WHERE e.extname IN ('dblink', 'postgres_fdw', 'http', 'pg_net', 'aws_s3', 'aws_lambda', 'pg_cron', 'pg_background', 'adminpack',
                    'pgsql_http', 'plsh', 'orafce', 'lo', 'pg_prewarm', 'pg_buffercache', 'file_fdw', 'mysql_fdw', 'oracle_fdw')
  AND EXISTS (SELECT FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
              WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass
                AND d.deptype = 'e' AND has_function_privilege(p.oid, 'EXECUTE'))
UNION ALL
SELECT l.lanname::text
FROM pg_language l
WHERE NOT l.lanpltrusted AND l.lanname NOT IN ('internal', 'c')
  AND EXISTS (SELECT FROM pg_proc p WHERE p.prolang = l.oid AND has_function_privilege(p.oid, 'EXECUTE'))
ORDER BY 1
