-- What the names that stand in a statement as those of functions mean: each function of Postgres's own that is volatile and can
-- be called from SQL, and each of somebody else's of which nothing is known. One in C that is immutable reads no table.
SELECT DISTINCT nspname, proname, nspname = 'pg_catalog' AS own, provolatile = 'v' AS volatile
FROM ROWS FROM (pg_catalog.unnest(%(schemas)s::pg_catalog.text[]), pg_catalog.unnest(%(names)s::pg_catalog.text[]))
     AS call (schema, name)
JOIN pg_catalog.pg_proc ON proname = call.name
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pronamespace
JOIN pg_catalog.pg_language ON pg_language.oid = prolang
WHERE CASE WHEN nspname = 'pg_catalog'
           THEN provolatile = 'v'
                AND NOT 'pg_catalog.internal'::pg_catalog.regtype = ANY (proargtypes)
                AND prorettype NOT IN ('pg_catalog.internal'::pg_catalog.regtype, 'pg_catalog.trigger'::pg_catalog.regtype)
           ELSE nspname <> 'information_schema' AND NOT nspname ~ '^stepwell_(log|asof)'
                AND NOT (provolatile = 'i' AND lanname IN ('c', 'internal'))
                AND CASE call.schema WHEN '' THEN pg_catalog.pg_function_is_visible(pg_proc.oid) ELSE nspname = call.schema END
      END
ORDER BY nspname, proname
