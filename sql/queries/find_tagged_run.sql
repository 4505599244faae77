-- A run with tag %(tag)s, whatever its value.
SELECT run_id FROM agent_runs WHERE tags ? %(tag)s LIMIT 1
