-- A branch has the steps of its parent below forked_at_step, and its own from there on: no parent goes before it.

CREATE INDEX IF NOT EXISTS agent_runs_branches ON agent_runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint
                   WHERE conrelid = 'agent_runs'::regclass AND conname = 'agent_runs_parent_run_id_fkey') THEN
        -- No run has had a parent before: there is nothing to check.
        ALTER TABLE agent_runs ADD FOREIGN KEY (parent_run_id) REFERENCES agent_runs (run_id) NOT VALID;
    END IF;
END $$;

INSERT INTO stepwell_migrations (version) VALUES (9) ON CONFLICT DO NOTHING;
