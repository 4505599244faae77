-- What reads watched tables as they are today, at whatever step: views over them, and the user's functions that have a search
-- path or a body that is bound to tables.
SELECT 'view' AS kind, v.oid::regclass::text AS name
FROM stepwell_log.tables t
JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.relation::oid AND d.classid = 'pg_rewrite'::regclass
JOIN pg_rewrite w ON w.oid = d.objid
JOIN pg_class v ON v.oid = w.ev_class AND v.oid <> t.relation::oid
UNION
SELECT 'function', p.oid::regprocedure::text
FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^stepwell_(log|asof)'
  AND p.prorettype <> 'trigger'::regtype
  AND (EXISTS (SELECT FROM unnest(p.proconfig) AS setting WHERE setting LIKE 'search_path=%%')
       OR p.prosqlbody IS NOT NULL
          AND EXISTS (SELECT FROM pg_depend d JOIN stepwell_log.tables t ON t.relation::oid = d.refobjid
                      WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_class'::regclass))
  AND EXISTS (SELECT FROM stepwell_log.tables)
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
ORDER BY 1, 2
