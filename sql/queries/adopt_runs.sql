-- Give a row in agent_runs to each run of which only steps exist; its status stays unknown.
WITH RECURSIVE ids AS (
    (SELECT run_id FROM agent_steps ORDER BY run_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.run_id FROM agent_steps s WHERE s.run_id > ids.run_id ORDER BY s.run_id LIMIT 1)
    FROM ids
    WHERE ids.run_id IS NOT NULL
)
INSERT INTO agent_runs (run_id, status, steps, finished, started_at, finished_at)
SELECT ids.run_id, NULL, facts.steps, facts.finished, facts.started_at, facts.finished_at
FROM ids
CROSS JOIN LATERAL (
    SELECT max(step_number) AS steps, max(step_number) - count(*) FILTER (WHERE output IS NULL AND error IS NULL) AS finished,
           coalesce(min(created_at), now()) AS started_at, max(created_at) AS finished_at
    FROM agent_steps s
    WHERE s.run_id = ids.run_id
) AS facts
WHERE ids.run_id IS NOT NULL
ON CONFLICT DO NOTHING
