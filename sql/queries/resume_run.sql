-- Take an existing run up again: how many steps it has and what it was begun with, no row if there is no such run. One
-- whose steps have no snapshots yet, as from a file, is from here on of this server. Another keeps the server that it
-- began on, whichever this is: the snapshots that it has are of that one.
WITH run AS (
    UPDATE agent_runs
    SET status = 'running', finished_at = NULL, error = NULL,
        heartbeat = CASE WHEN %(key)s::int8 IS NULL THEN clock_timestamp() ELSE heartbeat END,
        system_identifier = CASE WHEN snapshot IS NULL THEN %(system)s::int8 ELSE system_identifier END,
        timeline = CASE WHEN snapshot IS NULL THEN %(timeline)s::int ELSE timeline END,
        snapshot = coalesce(snapshot, pg_current_snapshot())
    WHERE run_id = %(run_id)s
    RETURNING steps, name, tags, seed
)
SELECT steps, name, tags, seed, pg_try_advisory_lock_shared(%(key)s::int8) FROM run
