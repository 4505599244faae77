-- The worst loop of a run from a file, found when all its steps have been read.
UPDATE agent_runs SET loop = %(loop)s::jsonb WHERE run_id = %(run_id)s
