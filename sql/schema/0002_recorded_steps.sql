-- What the recorder knows about a step beyond the eight columns. All nullable: rows written by hand stay valid.

ALTER TABLE agent_steps
    ADD COLUMN IF NOT EXISTS agent          TEXT,        -- who took the step; NULL in a run of one agent
    ADD COLUMN IF NOT EXISTS name           TEXT,        -- the model or the tool
    ADD COLUMN IF NOT EXISTS parent_step    INT,         -- the step inside which this one was taken
    ADD COLUMN IF NOT EXISTS started_at     TIMESTAMPTZ, -- the recorder's wall clock
    ADD COLUMN IF NOT EXISTS finished_at    TIMESTAMPTZ, -- started_at plus monotonic time
    ADD COLUMN IF NOT EXISTS finished_order INT,         -- 1, 2, 3… over the run, in the order in which steps finished
    ADD COLUMN IF NOT EXISTS finished_before INT,        -- how many steps of the run had finished when this one began
    ADD COLUMN IF NOT EXISTS started_before INT,         -- how many steps of the run had begun when this one finished
    ADD COLUMN IF NOT EXISTS error          JSONB,       -- {"type", "message", "value", "exact"} of what was raised
    ADD COLUMN IF NOT EXISTS input_exact    JSONB,       -- what JSONB cannot keep of input
    ADD COLUMN IF NOT EXISTS output_exact   JSONB,       -- what JSONB cannot keep of output
    ADD COLUMN IF NOT EXISTS tokens_in      INT,
    ADD COLUMN IF NOT EXISTS tokens_out     INT,
    ADD COLUMN IF NOT EXISTS finish_reason  TEXT,        -- why the model stopped, in the words of its API
    ADD COLUMN IF NOT EXISTS call_hash      BIGINT;      -- of a tool call's name, arguments and result: equal in every lap of a loop

-- Folding the state reads these rows and no others.
CREATE INDEX IF NOT EXISTS agent_steps_state ON agent_steps (run_id, step_number) WHERE step_type = 'state_update';

INSERT INTO stepwell_migrations (version) VALUES (2) ON CONFLICT DO NOTHING;
