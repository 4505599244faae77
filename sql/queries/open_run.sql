-- Begin a run, and hold the lock that tells readers that its recorder lives; without a key it is the heartbeat that
-- does. Sent again, it begins no second one.
WITH run AS (
    INSERT INTO agent_runs (run_id, name, tags, started_at, heartbeat, system_identifier, timeline, snapshot, seed, random,
                            zone, connection)
    VALUES (%(run_id)s, %(name)s, %(tags)s::jsonb, %(started_at)s,
            CASE WHEN %(key)s::int8 IS NULL THEN clock_timestamp() END,
            %(system)s::int8, %(timeline)s::int, pg_current_snapshot(), %(seed)s::int8, %(random)s::jsonb, %(zone)s,
            %(connection)s::jsonb)
    ON CONFLICT (run_id) DO NOTHING
)
SELECT pg_try_advisory_lock_shared(%(key)s::int8)
