-- Which snapshot of the database each step saw before its call and after it, so that watched tables can be shown as of
-- that step. All nullable: NULL where no snapshot is of that very moment, as of a step that was written down later.

ALTER TABLE agent_steps
    ADD COLUMN IF NOT EXISTS snapshot_before pg_snapshot, -- taken after the step was asked for, before its call was made
    ADD COLUMN IF NOT EXISTS snapshot_after  pg_snapshot, -- taken after its call returned, before the agent got the result
    -- Of a step with the agent's own connection, where that could be asked: the snapshots are its own then.
    ADD COLUMN IF NOT EXISTS own_before      xid8,        -- the agent's transaction, if it had written by then
    ADD COLUMN IF NOT EXISTS own_after       xid8,
    ADD COLUMN IF NOT EXISTS position_before BIGINT,      -- how far it had got in the logs of watched tables, 0 if nowhere;
    ADD COLUMN IF NOT EXISTS position_after  BIGINT,      -- NULL where the snapshot is the recorder's
    ADD COLUMN IF NOT EXISTS backend         INT;         -- the pid of the server process of that connection

-- Of which server the snapshots of a run are: elsewhere the numbers of transactions mean nothing. A run that is resumed
-- on another timeline, as after a fail-over, keeps the first one: some of its snapshots may be of the other, and who
-- asks on that server is told that they cannot be relied on.
ALTER TABLE agent_runs
    ADD COLUMN IF NOT EXISTS system_identifier BIGINT,    -- the cluster, as pg_control_system() tells it
    ADD COLUMN IF NOT EXISTS timeline          INT,
    -- When it was opened, so no younger than those of its steps, but for one of an agent's own transaction that was open
    -- before: what that asks for may be pruned.
    ADD COLUMN IF NOT EXISTS snapshot          pg_snapshot;

INSERT INTO stepwell_migrations (version) VALUES (7) ON CONFLICT DO NOTHING;
