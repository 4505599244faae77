-- The columns of a table or a view, their types, and the place of each in the primary key, NULL where it is not in it.
SELECT a.attname AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       pg_catalog.array_position(i.indkey::pg_catalog.int2[], a.attnum) AS place
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = pg_catalog.to_regclass(pg_catalog.format('%%I.%%I', %(schema)s::text, %(name)s::text))
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
