-- What a replay needs of a run beside its steps, `first` being the run that it has its first steps from. No row where
-- runs have no rows of their own, or older ones.
SELECT seed, random::text, drawn, result::text, result_exact::text,
       (SELECT started_at FROM agent_runs WHERE run_id = %(first)s) AS started_at
FROM agent_runs
WHERE run_id = %(run_id)s
