-- What the names that stand in a statement as those of functions mean: each function of Postgres's own that is volatile and can
-- be called from SQL, and each of somebody else's of which nothing is known. One in C that is immutable reads no table; what an
-- aggregate does is told by the functions that it is made of. What stands before a dot may be a schema, or what is given.
SELECT DISTINCT nspname, proname, nspname = 'pg_catalog' AS own
FROM ROWS FROM (pg_catalog.unnest(%(schemas)s::pg_catalog.text[]), pg_catalog.unnest(%(names)s::pg_catalog.text[]))
     AS call (schema, name)
JOIN pg_catalog.pg_proc AS found ON proname = call.name::pg_catalog.name
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pronamespace
WHERE CASE WHEN nspname = 'pg_catalog'
           THEN provolatile = 'v'
                AND NOT 'pg_catalog.internal'::pg_catalog.regtype = ANY (proargtypes)
                AND prorettype NOT IN ('pg_catalog.internal'::pg_catalog.regtype, 'pg_catalog.trigger'::pg_catalog.regtype)
           ELSE nspname <> 'information_schema'
                AND NOT (nspname ~ '^stepwell_asof' AND EXISTS ( -- what a past view is made of; others may stand beside it
                    SELECT FROM pg_catalog.pg_class WHERE relnamespace = pronamespace AND relname = proname))
                AND (nspname = call.schema::pg_catalog.name
                     OR pg_catalog.pg_function_is_visible(found.oid)
                        AND (call.schema = '' OR pronargs > 0 AND pronargs - pronargdefaults < 2))
                AND EXISTS (
                    SELECT FROM pg_catalog.pg_proc AS part
                    JOIN pg_catalog.pg_language ON pg_language.oid = part.prolang
                    LEFT JOIN pg_catalog.pg_aggregate ON aggfnoid = found.oid
                    WHERE part.oid IN (CASE found.prokind WHEN 'a' THEN aggtransfn ELSE found.oid END, aggfinalfn, aggcombinefn,
                                       aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn)
                      AND NOT (part.provolatile = 'i' AND lanname IN ('c', 'internal')))
      END
ORDER BY nspname, proname
