-- A run from a file; no row comes back where it is there already.
INSERT INTO agent_runs (run_id, name, status, tags, steps, finished, agents, started_at, finished_at, error, source)
VALUES (%(run_id)s, %(name)s, %(status)s, %(tags)s::jsonb, %(steps)s, %(finished)s, %(agents)s::text[],
        %(started_at)s, %(finished_at)s, %(error)s::jsonb, %(source)s)
ON CONFLICT (run_id) DO NOTHING
RETURNING run_id
