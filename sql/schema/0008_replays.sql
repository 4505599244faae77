-- What a replay through the agent's own code has to give back beside the answers, and where a branch of a run begins.
-- All nullable: NULL where it is not recorded, or where there was nothing of it.

ALTER TABLE agent_steps
    ADD COLUMN IF NOT EXISTS lane         INT,     -- which thread or task of the run took the step: a number each
    ADD COLUMN IF NOT EXISTS drawn        JSONB,   -- what was drawn by chance before it, since the last step of its lane
    ADD COLUMN IF NOT EXISTS random_after JSONB,   -- what random stood at after its call; NULL: as noted last when it began
    ADD COLUMN IF NOT EXISTS form         TEXT;    -- how the call handed out its answer, and as what: stream openai:Stream

ALTER TABLE agent_runs
    ADD COLUMN IF NOT EXISTS seed           BIGINT, -- of its steps that have none of their own
    ADD COLUMN IF NOT EXISTS random         JSONB,  -- what random stood at when the run began
    ADD COLUMN IF NOT EXISTS zone           TEXT,   -- the local time of the agent's process, as TZ would have it
    ADD COLUMN IF NOT EXISTS connection     JSONB,  -- how the agent's own connection was set, where that is no default
    ADD COLUMN IF NOT EXISTS drawn          JSONB,  -- what was drawn after the last step of each lane
    ADD COLUMN IF NOT EXISTS result         JSONB,  -- what the run has come to, as the agent says
    ADD COLUMN IF NOT EXISTS result_exact   JSONB,
    ADD COLUMN IF NOT EXISTS parent_run_id  UUID,   -- of a branch: the run that it leaves
    ADD COLUMN IF NOT EXISTS forked_at_step INT;    -- and the step at which it does: the first of its own

INSERT INTO stepwell_migrations (version) VALUES (8) ON CONFLICT DO NOTHING;
