-- Delete some runs, of which no steps are left.
DELETE FROM agent_runs WHERE run_id = ANY (%(run_ids)s)
