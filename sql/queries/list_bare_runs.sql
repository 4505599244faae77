-- Runs of which only steps exist, newest first. Ids are hopped over in the index, not read step by step.
WITH RECURSIVE ids AS (
    (SELECT run_id FROM agent_steps
     WHERE %(first)s::uuid IS NULL OR run_id >= %(first)s
     ORDER BY run_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.run_id FROM agent_steps s WHERE s.run_id > ids.run_id ORDER BY s.run_id LIMIT 1)
    FROM ids
    WHERE ids.run_id IS NOT NULL AND (%(last)s::uuid IS NULL OR ids.run_id < %(last)s)
)
SELECT ids.run_id, head.created_at AS started_at, tail.created_at AS finished_at, steps.steps
FROM ids
CROSS JOIN LATERAL (
    SELECT created_at FROM agent_steps s WHERE s.run_id = ids.run_id ORDER BY step_number LIMIT 1
) AS head
CROSS JOIN LATERAL (
    SELECT created_at FROM agent_steps s WHERE s.run_id = ids.run_id ORDER BY step_number DESC LIMIT 1
) AS tail
CROSS JOIN LATERAL (SELECT count(*)::int AS steps FROM agent_steps s WHERE s.run_id = ids.run_id) AS steps
WHERE (%(last)s::uuid IS NULL OR ids.run_id <= %(last)s)
  AND (%(started)s::timestamptz IS NULL OR (head.created_at, ids.run_id) < (%(started)s, %(run_id)s::uuid))
  AND ids.run_id::text LIKE %(pattern)s || '%%'
ORDER BY head.created_at DESC, ids.run_id DESC
LIMIT %(limit)s
