-- What a replay needs of a run beside its steps. No row where runs have no rows of their own, or older ones.
SELECT seed, random::text, drawn, result::text, result_exact::text
FROM agent_runs
WHERE run_id = %(run_id)s
