-- Of Stepwell's own tables: whether they are there, what this role may do with them, and their sizes with indexes.
SELECT given.name, c.oid IS NOT NULL AS there, coalesce(has_table_privilege(c.oid, 'SELECT'), false) AS readable,
       coalesce(has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE'), false) AS writable,
       coalesce(pg_total_relation_size(c.oid), 0) AS bytes
FROM unnest(ARRAY['agent_steps', 'agent_runs']) WITH ORDINALITY AS given (name, place)
LEFT JOIN pg_class c ON c.oid = to_regclass(given.name)
ORDER BY given.place
