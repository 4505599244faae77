-- Ids between two of which only steps exist. They are hopped over in the index, and the first few end the search.
WITH RECURSIVE ids AS (
    (SELECT run_id FROM agent_steps
     WHERE run_id BETWEEN %(first)s AND %(last)s
     ORDER BY run_id LIMIT 1)
    UNION ALL
    SELECT next.run_id
    FROM ids
    CROSS JOIN LATERAL (
        SELECT s.run_id FROM agent_steps s
        WHERE s.run_id > ids.run_id AND s.run_id <= %(last)s
        ORDER BY s.run_id LIMIT 1
    ) AS next
)
SELECT run_id
FROM ids
WHERE NOT EXISTS (SELECT FROM agent_runs AS r WHERE r.run_id = ids.run_id)
LIMIT %(limit)s
