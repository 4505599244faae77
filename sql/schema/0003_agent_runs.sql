-- One row a run, so that listing a million runs never touches their steps.

CREATE TABLE IF NOT EXISTS agent_runs (
    run_id      UUID PRIMARY KEY,
    name        TEXT,
    status      TEXT DEFAULT 'running' CHECK (status IN ('running', 'ok', 'failed')), -- NULL: written by hand, not known
    tags        JSONB,
    steps       INT NOT NULL DEFAULT 0,     -- how many have begun: the last step_number
    finished    INT NOT NULL DEFAULT 0,     -- how many have finished: the last finished_order; fewer than steps means in doubt or running
    agents      TEXT[] NOT NULL DEFAULT '{}',
    started_at  TIMESTAMPTZ NOT NULL DEFAULT now(),
    finished_at TIMESTAMPTZ,
    error       JSONB,
    loop        JSONB,                      -- {"name", "first", "last", "period", "laps"}, kept up while recording
    source      TEXT                        -- the format of the file that it was imported from
) WITH (fillfactor = 50);                   -- each step updates its run's row: leave room to do so in place

CREATE INDEX IF NOT EXISTS agent_runs_newest ON agent_runs (started_at DESC, run_id DESC);
CREATE INDEX IF NOT EXISTS agent_runs_not_ok ON agent_runs (started_at DESC, run_id DESC) WHERE status <> 'ok';

INSERT INTO stepwell_migrations (version) VALUES (3) ON CONFLICT DO NOTHING;
