-- The names of runs in which a text occurs, of the first %(bound)s names, and whether those are all that there are.
-- It hops from name to name in an index that begins with them; where there is none, it looks at nothing and says so.
WITH RECURSIVE names AS (
    (SELECT name, 1 AS place
     FROM agent_runs
     WHERE name IS NOT NULL AND EXISTS (
         SELECT FROM pg_index AS i
         JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
         WHERE i.indrelid = 'agent_runs'::regclass AND i.indisvalid AND i.indpred IS NULL AND a.attname = 'name'
     )
     ORDER BY name
     LIMIT 1)
    UNION ALL
    SELECT next.name, place + 1
    FROM names
    CROSS JOIN LATERAL (
        SELECT r.name FROM agent_runs AS r WHERE r.name > names.name ORDER BY r.name LIMIT 1
    ) AS next
    WHERE place <= %(bound)s
)
SELECT coalesce(array_agg(name) FILTER (WHERE name ILIKE '%%' || %(pattern)s || '%%'), '{}'),
       count(*) BETWEEN 1 AND %(bound)s
FROM names
