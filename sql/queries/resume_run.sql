-- Take an existing run up again: how many steps it has, no row if there is no such run.
WITH run AS (
    UPDATE agent_runs
    SET status = 'running', finished_at = NULL, error = NULL,
        heartbeat = CASE WHEN %(key)s::int8 IS NULL THEN clock_timestamp() ELSE heartbeat END
    WHERE run_id = %(run_id)s
    RETURNING steps
)
SELECT steps, pg_try_advisory_lock_shared(%(key)s::int8) FROM run
