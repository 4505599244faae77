-- Runs of which only steps exist, newest first. Ids are hopped over in the index, not read step by step,
-- and only the steps of the runs of this page are counted; of outputs only that of the last step is looked at.
-- A column that agent_steps lacks resolves to the NULL of `absent`.
WITH RECURSIVE heads AS (
    (SELECT run_id, created_at FROM agent_steps
     WHERE %(first)s::uuid IS NULL OR run_id >= %(first)s
     ORDER BY run_id, step_number LIMIT 1)
    UNION ALL
    SELECT next.run_id, next.created_at
    FROM heads
    CROSS JOIN LATERAL (
        SELECT s.run_id, s.created_at FROM agent_steps s
        WHERE s.run_id > heads.run_id
        ORDER BY s.run_id, s.step_number LIMIT 1
    ) AS next
    WHERE %(last)s::uuid IS NULL OR next.run_id <= %(last)s
), page AS (
    SELECT run_id, created_at AS started_at
    FROM heads
    WHERE (%(last)s::uuid IS NULL OR run_id <= %(last)s)
      AND (%(run_id)s::uuid IS NULL
           OR (coalesce(created_at, '-infinity'), run_id)
              < (coalesce(%(started)s::timestamptz, '-infinity'), %(run_id)s))
    ORDER BY created_at DESC NULLS LAST, run_id DESC
    LIMIT %(limit)s
)
SELECT page.run_id, page.started_at, tail.created_at AS finished_at, steps.steps, tail.open,
       tail.step_number AS last_number, tail.name AS last_name
FROM page
CROSS JOIN (SELECT NULL::jsonb AS error, NULL::text AS name) AS absent
CROSS JOIN LATERAL (
    SELECT created_at, step_number, coalesce(name, step_type) AS name, output IS NULL AND error IS NULL AS open
    FROM agent_steps s
    WHERE s.run_id = page.run_id
    ORDER BY step_number DESC
    LIMIT 1
) AS tail
CROSS JOIN LATERAL (SELECT count(*)::int AS steps FROM agent_steps s WHERE s.run_id = page.run_id) AS steps
ORDER BY page.started_at DESC NULLS LAST, page.run_id DESC
