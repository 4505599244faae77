-- Of one relation all that decides whether and how it can be watched; no row where there is no such relation. Asked of the
-- catalogs alone, for pg_partition_tree() would wait for whoever has a partition locked.
WITH RECURSIVE tree AS (
    SELECT to_regclass(%(name)s)::oid AS relid
    UNION ALL
    SELECT i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.relid AND NOT i.inhdetachpending
), base AS ( -- types without the domains around them
    SELECT t.oid AS type, t.oid, t.typtype, t.typbasetype, t.typnamespace, t.typelem, t.typcategory, t.typlen
    FROM pg_type t
    WHERE t.oid IN (SELECT atttypid FROM pg_attribute WHERE attrelid = to_regclass(%(name)s) AND attnum > 0)
    UNION ALL
    SELECT base.type, t.oid, t.typtype, t.typbasetype, t.typnamespace, t.typelem, t.typcategory, t.typlen
    FROM base JOIN pg_type t ON t.oid = base.typbasetype
    WHERE base.typtype = 'd'
)
SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relkind AS kind, c.relpersistence AS persistence,
       c.relispartition AS is_partition, c.relrowsecurity AS secured,
       n.nspname IN ('pg_catalog', 'information_schema', 'stepwell_log') OR n.nspname LIKE 'pg\_%%'
           OR n.nspname LIKE 'stepwell\_asof%%'
           OR c.oid IN (to_regclass('agent_steps'), to_regclass('agent_runs'), to_regclass('stepwell_migrations')) AS is_system,
       pg_has_role(c.relowner, 'USAGE') AS owned,
       pg_get_userbyid(c.relowner)::text AS owner,
       (SELECT rolsuper FROM pg_roles WHERE oid = c.relowner) AS by_superuser,
       CASE WHEN c.relispartition THEN pg_partition_root(c.oid)::regclass::text END AS root,
       c.relkind <> 'p' AND NOT c.relispartition
           AND EXISTS (SELECT FROM pg_inherits WHERE c.oid IN (inhparent, inhrelid)) AS inherits,
       c.relkind = 'p'
           AND EXISTS (SELECT FROM tree JOIN pg_class p ON p.oid = tree.relid WHERE p.relkind = 'f') AS has_foreign,
       c.relkind = 'p'
           AND EXISTS (SELECT FROM tree JOIN pg_class p ON p.oid = tree.relid WHERE p.relrowsecurity) AS part_secured,
       (SELECT count(*) FROM pg_index WHERE indrelid = c.oid AND indisprimary AND NOT indimmediate) > 0 AS deferrable,
       (SELECT array_agg(k.attnum ORDER BY k.place)
        FROM pg_index i CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
        WHERE i.indrelid = c.oid AND i.indisprimary) AS key,
       (SELECT jsonb_agg(jsonb_build_object(
                   'number', a.attnum, 'name', a.attname,
                   'native', b.typnamespace = 'pg_catalog'::regnamespace AND b.typtype IN ('b', 'r', 'm')
                             AND coalesce(e.typnamespace = 'pg_catalog'::regnamespace AND e.typtype IN ('b', 'r', 'm'), true),
                   'type', format_type(b.oid, -1),
                   'declared', format_type(a.atttypid, a.atttypmod),
                   'collation', CASE WHEN l.collname <> 'default' THEN format('%%I.%%I', s.nspname, l.collname) END,
                   'own_collation', coalesce(s.nspname <> 'pg_catalog', false),
                   'computed', CASE WHEN a.attgenerated = 'v' THEN pg_get_expr(d.adbin, d.adrelid) END,
                   'width', CASE WHEN b.typlen > 0 THEN b.typlen ELSE 18 END
               ) ORDER BY a.attnum)
        FROM pg_attribute a
        JOIN base b ON b.type = a.atttypid AND b.typtype <> 'd'
        LEFT JOIN pg_type e ON e.oid = b.typelem AND b.typcategory = 'A'
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        LEFT JOIN pg_namespace s ON s.oid = l.collnamespace
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
       (SELECT array_agg(DISTINCT coalesce(g.rolname, 'public'))
        FROM aclexplode(c.relacl) AS acl LEFT JOIN pg_roles g ON g.oid = acl.grantee
        WHERE acl.privilege_type = 'SELECT' AND acl.grantee <> c.relowner) AS readers
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(%(name)s)
