-- Lock the rows of several runs, in the order that every batch takes them in.
SELECT 1
FROM agent_runs
WHERE run_id = ANY (%(run_ids)s)
ORDER BY run_id
FOR NO KEY UPDATE
