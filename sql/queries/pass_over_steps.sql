-- After a fail-over to a standby that had not got all yet: the numbers of lost steps are not given again, for their
-- recorder may still name them. Returns the runs concerned, with their last steps that are there.
WITH short AS (
    SELECT r.run_id, r.steps, known.last
    FROM agent_runs AS r
    JOIN unnest(%(run_ids)s::uuid[], %(last)s::int8[]) AS known (run_id, last) USING (run_id)
    WHERE r.steps < known.last
    ORDER BY r.run_id
    FOR NO KEY UPDATE OF r
)
UPDATE agent_runs AS r
SET steps = short.last
FROM short
WHERE r.run_id = short.run_id
RETURNING r.run_id, short.steps
