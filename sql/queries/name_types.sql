-- The names of types, for their numbers and modifiers, in that order.
SELECT pg_catalog.format_type(type.id, nullif(type.modifier, -1))
FROM ROWS FROM (pg_catalog.unnest(%(ids)s::pg_catalog.oid[]), pg_catalog.unnest(%(modifiers)s::pg_catalog.int4[]))
     WITH ORDINALITY AS type (id, modifier, place)
ORDER BY type.place
