-- What a million runs, and runs of 100,000 steps, are read by. While an index is built, recorders wait to begin and end
-- steps: about a second for a million runs, and as long as reading agent_steps once takes, without its long values.
-- Where that is too long, make them beforehand, under these names and with CREATE INDEX CONCURRENTLY; they are then
-- found here.

-- The list of runs is filtered by part of a name: the names are few where the runs are many, and this hops over them.
CREATE INDEX IF NOT EXISTS agent_runs_name ON agent_runs (name, started_at DESC, run_id DESC);

-- States that were recorded whole, for the fold to begin at.
CREATE INDEX IF NOT EXISTS agent_steps_whole_state ON agent_steps (run_id, step_number)
    WHERE CASE WHEN step_type = 'state_update' THEN input #> '{$patch,0,at}' IS NOT NULL END;

INSERT INTO stepwell_migrations (version) VALUES (6) ON CONFLICT DO NOTHING;
