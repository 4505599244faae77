-- The runs that a branch has steps of, its parent first: of each those below step `before`, but for those in `hidden`,
-- of which a nearer one has rows of its own. No row for a run that is no branch.
-- A column that agent_runs lacks resolves to the NULL of `absent`.
WITH RECURSIVE absent AS (
    SELECT NULL::uuid AS parent_run_id, NULL::int AS forked_at_step
), line AS (
    SELECT 1 AS depth, run.*
    FROM absent
    CROSS JOIN LATERAL (
        SELECT run_id, parent_run_id, forked_at_step FROM agent_runs
        WHERE run_id = %(run_id)s AND parent_run_id IS NOT NULL AND forked_at_step IS NOT NULL
    ) AS run (branch, parent, before)
    UNION ALL
    SELECT depth + 1, run.branch, run.parent, least(run.before, line.before)
    FROM line
    CROSS JOIN absent
    CROSS JOIN LATERAL (
        SELECT run_id, parent_run_id, forked_at_step FROM agent_runs
        WHERE run_id = line.parent AND parent_run_id IS NOT NULL AND forked_at_step IS NOT NULL
    ) AS run (branch, parent, before)
    WHERE depth < 1000
)
SELECT parent, before,
       ARRAY(SELECT step_number FROM agent_steps
             WHERE run_id IN (SELECT branch FROM line AS nearer WHERE nearer.depth <= line.depth)
               AND step_number < line.before
             ORDER BY step_number) AS hidden
FROM line
ORDER BY depth
