-- What a row that is written to a table is given and has to have: of each column whether it must have a value, its type where
-- that rounds, cuts or refuses what the past of the table would take, the expression of its default or of what it is generated
-- by, and the sequence that it takes its numbers from; the name of the key, of each constraint that is checked its name and
-- expression, and whether a trigger may give a row other values.
SELECT a.attname::text AS name, a.attnotnull AS required, a.attgenerated <> '' AS generated,
       CASE WHEN a.atttypmod >= 0 OR t.typnamespace <> 'pg_catalog'::regnamespace
            THEN format_type(a.atttypid, a.atttypmod) END AS type,
       pg_get_expr(d.adbin, d.adrelid) AS expression, s.relname::text AS sequence, q.seqincrement AS increment,
       (SELECT conname::text FROM pg_constraint WHERE conrelid = a.attrelid AND contype = 'p') AS constraint,
       (SELECT jsonb_object_agg(conname, pg_get_expr(conbin, conrelid))
        FROM pg_constraint WHERE conrelid = a.attrelid AND contype = 'c') AS checks,
       EXISTS (SELECT FROM pg_trigger WHERE tgrelid = a.attrelid AND NOT tgisinternal AND tgenabled <> 'D'
                AND tgtype & 3 = 3) AS triggered -- BEFORE and FOR EACH ROW
FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN LATERAL (
    SELECT c.oid, c.relname
    FROM pg_depend p JOIN pg_class c ON c.relkind = 'S'
     AND (p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_class'::regclass AND p.refobjid = c.oid
          OR p.classid = 'pg_class'::regclass AND p.objid = c.oid AND p.refclassid = 'pg_class'::regclass
             AND p.refobjid = a.attrelid AND p.refobjsubid = a.attnum AND p.deptype = 'i')
    LIMIT 1
) AS s ON true
LEFT JOIN pg_sequence q ON q.seqrelid = s.oid
WHERE a.attrelid = to_regclass(format('%%I.%%I', %(schema)s::text, %(name)s::text)) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
