-- A run of another database, with all that it has there; no row comes back where it is there already, be it that only
-- its steps are.
INSERT INTO agent_runs (run_id, name, status, tags, steps, finished, agents, started_at, finished_at, error, loop, source,
                        seed, random, zone, drawn, result, result_exact)
SELECT %(run_id)s, %(name)s, %(status)s, %(tags)s::jsonb, %(steps)s, %(finished)s, %(agents)s::text[], %(started_at)s,
       %(finished_at)s, %(error)s::jsonb, %(loop)s::jsonb, %(source)s, %(seed)s, %(random)s::jsonb, %(zone)s,
       %(drawn)s::jsonb, %(result)s::jsonb, %(result_exact)s::jsonb
WHERE NOT EXISTS (SELECT FROM agent_steps WHERE run_id = %(run_id)s)
ON CONFLICT (run_id) DO NOTHING
RETURNING run_id
