-- A run that began while its database took nothing.
INSERT INTO agent_runs (run_id, name, tags, started_at)
VALUES (%(run_id)s, %(name)s, %(tags)s::jsonb, %(started_at)s)
ON CONFLICT (run_id) DO NOTHING
