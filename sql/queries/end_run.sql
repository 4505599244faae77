-- End a run, and let go of its lock. No row if the run is no longer there.
WITH run AS (
    UPDATE agent_runs
    SET status = %(status)s, finished_at = %(finished_at)s, error = %(error)s::jsonb,
        drawn = coalesce(%(drawn)s::jsonb, drawn), result = coalesce(%(result)s::jsonb, result),
        result_exact = CASE WHEN %(result)s::jsonb IS NULL THEN result_exact ELSE %(result_exact)s::jsonb END,
        keep = coalesce(nullif(keep, ''), %(keep)s) -- who asked for it in words is not overruled
    WHERE run_id = %(run_id)s
    RETURNING run_id
)
SELECT pg_advisory_unlock_shared(%(key)s::int8) FROM run
