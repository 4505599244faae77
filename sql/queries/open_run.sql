-- Begin a run, and hold the lock that tells readers that its recorder lives. Sent again, it begins no second one.
WITH run AS (
    INSERT INTO agent_runs (run_id, name, tags, started_at)
    VALUES (%(run_id)s, %(name)s, %(tags)s::jsonb, %(started_at)s)
    ON CONFLICT (run_id) DO NOTHING
)
SELECT pg_try_advisory_lock_shared(%(key)s)
