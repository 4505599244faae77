-- A run with all of %(tags)s that has come to its end.
SELECT run_id FROM agent_runs WHERE tags @> %(tags)s AND status <> 'running' LIMIT 1
