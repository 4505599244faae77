-- The definitions of the views that the statement reads which was planned last in this transaction: it has locked them all.
SELECT pg_catalog.pg_get_viewdef(pg_class.oid)
FROM pg_catalog.pg_locks
JOIN pg_catalog.pg_class ON pg_class.oid = relation AND relkind = 'v'
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
WHERE locktype = 'relation' AND pid = pg_catalog.pg_backend_pid()
  AND nspname NOT IN ('pg_catalog', 'information_schema') AND NOT nspname ~ '^stepwell_(log|asof)'
