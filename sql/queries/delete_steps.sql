-- Delete the steps of some runs.
DELETE FROM agent_steps WHERE run_id = ANY (%(run_ids)s)
