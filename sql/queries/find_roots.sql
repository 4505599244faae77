-- For relations by schema and name: those that they are, or that they are partitions of.
SELECT read.place, space.nspname, root.relname
FROM ROWS FROM (pg_catalog.unnest(%(schemas)s::pg_catalog.text[]), pg_catalog.unnest(%(names)s::pg_catalog.text[]))
     WITH ORDINALITY AS read (schema, name, place)
JOIN pg_catalog.pg_namespace AS own ON own.nspname = read.schema
JOIN pg_catalog.pg_class AS found ON found.relname = read.name AND found.relnamespace = own.oid
JOIN pg_catalog.pg_class AS root ON root.oid = coalesce(pg_catalog.pg_partition_root(found.oid)::pg_catalog.oid, found.oid)
JOIN pg_catalog.pg_namespace AS space ON space.oid = root.relnamespace
