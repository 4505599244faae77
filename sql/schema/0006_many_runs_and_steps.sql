-- The list of runs is filtered by part of a name: the names are few where the runs are many, and this index hops from
-- one to the next. While it is built, recorders wait to begin and end steps: about a second for a million runs. Where
-- that is too long, make it beforehand, under this name and with CREATE INDEX CONCURRENTLY; this then finds it there.

CREATE INDEX IF NOT EXISTS agent_runs_name ON agent_runs (name, started_at DESC, run_id DESC);

INSERT INTO stepwell_migrations (version) VALUES (6) ON CONFLICT DO NOTHING;
