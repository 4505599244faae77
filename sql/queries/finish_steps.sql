-- Finish a batch of steps: give each its outcome and its place in the order in which the steps of its run finished.
-- A step that is finished already is left as it is, so that a batch may be sent again.
WITH batch AS (
    SELECT done.*, row_number() OVER (PARTITION BY done.run_id ORDER BY done.position) AS nth
    FROM unnest(%(run_id)s::uuid[], %(step_number)s::int8[], %(output)s::text[], %(output_exact)s::text[],
                %(error)s::text[], %(finished_at)s::timestamptz[], %(tokens_in)s::int8[], %(tokens_out)s::int8[],
                %(finish_reason)s::text[], %(call_hash)s::int8[], %(loop)s::text[]) WITH ORDINALITY
        AS done (run_id, step_number, output, output_exact, error, finished_at, tokens_in, tokens_out, finish_reason,
                 call_hash, loop, position)
    JOIN agent_steps s ON s.run_id = done.run_id AND s.step_number = done.step_number AND s.finished_at IS NULL
), share AS (
    SELECT run_id, count(*) AS done, (array_agg(loop ORDER BY position DESC) FILTER (WHERE loop IS NOT NULL))[1] AS loop
    FROM batch
    GROUP BY run_id
), locked AS MATERIALIZED ( -- in one order everywhere, so that two batches never wait for each other
    SELECT share.*
    FROM agent_runs
    JOIN share USING (run_id)
    ORDER BY run_id
    FOR NO KEY UPDATE OF agent_runs
), run AS (
    UPDATE agent_runs AS r
    SET finished = r.finished + locked.done, loop = coalesce(locked.loop::jsonb, r.loop)
    FROM locked
    WHERE r.run_id = locked.run_id
    RETURNING r.run_id, r.steps, r.finished - locked.done AS finished
)
UPDATE agent_steps AS s
SET output = batch.output::jsonb, output_exact = batch.output_exact::jsonb, error = batch.error::jsonb,
    finished_at = batch.finished_at, finished_order = run.finished + batch.nth, started_before = run.steps,
    tokens_in = batch.tokens_in, tokens_out = batch.tokens_out, finish_reason = batch.finish_reason,
    call_hash = batch.call_hash
FROM batch
JOIN run USING (run_id)
WHERE s.run_id = batch.run_id AND s.step_number = batch.step_number
RETURNING s.run_id, s.step_number
