-- Long prompts as differences, signs of life behind poolers, and what is worth keeping. All nullable.

-- A long prompt holds in `input` what is new in it: of the list `input_list` only the items after the first
-- `input_keep`, which are those of step `input_base`, and of the other keys those that changed. `input_removed` names
-- what of the base it lacks: keys, as strings, and items of that list, by their index; `input_keep` counts without
-- those. The view agent_steps_full puts it together.
ALTER TABLE agent_steps
    ADD COLUMN IF NOT EXISTS input_base    INT,
    ADD COLUMN IF NOT EXISTS input_keep    INT,
    ADD COLUMN IF NOT EXISTS input_list    TEXT,
    ADD COLUMN IF NOT EXISTS input_removed JSONB;

ALTER TABLE agent_runs
    ADD COLUMN IF NOT EXISTS heartbeat TIMESTAMPTZ, -- last sign of life of a recorder that holds no lock, behind a pooler
    ADD COLUMN IF NOT EXISTS keep      TEXT;        -- why the run is worth keeping; '' if it is not, NULL if nobody said

INSERT INTO stepwell_migrations (version) VALUES (4) ON CONFLICT DO NOTHING;
