-- Finish one step, with less work for the server than a batch of one; the meaning is that of write_steps.sql. `lazily`:
-- without waiting for the disk.
WITH run AS (
    UPDATE agent_runs
    SET finished = finished + 1, loop = coalesce(%(loop)b::text::jsonb, loop),
        heartbeat = CASE WHEN heartbeat IS NOT NULL THEN now() END
    WHERE run_id = %(run_id)b::uuid
      AND EXISTS (SELECT FROM agent_steps
                  WHERE run_id = %(run_id)b AND step_number = %(step_number)b::int8 AND finished_at IS NULL)
    RETURNING steps, finished
)
UPDATE agent_steps AS s
SET output = %(output)b::text::jsonb, output_exact = %(output_exact)b::text::jsonb, error = %(error)b::text::jsonb,
    finished_at = %(finished_at)b::timestamptz, finished_order = run.finished, started_before = run.steps,
    tokens_in = %(tokens_in)b::int8, tokens_out = %(tokens_out)b::int8, finish_reason = %(finish_reason)b::text,
    call_hash = %(call_hash)b::int8, form = %(form)b::text, random_after = %(random_after)b::text::jsonb,
    snapshot_after = CASE WHEN %(now)b::bool THEN pg_current_snapshot() END
FROM run
WHERE s.run_id = %(run_id)b AND s.step_number = %(step_number)b
RETURNING s.run_id, s.step_number, CASE WHEN %(lazily)b::bool THEN set_config('synchronous_commit', 'off', true) END
