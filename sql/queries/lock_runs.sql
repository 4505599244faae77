-- Wait for whoever is writing these runs: each commit to a run holds its row.
SELECT count(*)
FROM (SELECT FROM agent_runs WHERE run_id = ANY (%(run_ids)s) ORDER BY run_id FOR NO KEY UPDATE) AS held
