-- Begin a batch of steps: number them, count them in their runs' rows, and write what each was given.
-- The arrays hold one element a step; the outcome says that it had one from the start, as a state update does.
-- A run whose batch names in `known` the last number that its recorder knows of is left out if there is a newer one.
WITH batch AS (
    SELECT *,
           row_number() OVER (PARTITION BY run_id ORDER BY position) AS nth,
           count(*) FILTER (WHERE output IS NOT NULL) OVER (PARTITION BY run_id ORDER BY position) AS nth_done
    FROM unnest(%(run_id)s::uuid[], %(step_type)s::text[], %(agent)s::text[], %(name)s::text[], %(parent_step)s::int8[],
                %(seed)s::int8[], %(started_at)s::timestamptz[], %(input)s::text[], %(input_exact)s::text[],
                %(output)s::text[], %(output_exact)s::text[], %(known)s::int8[]) WITH ORDINALITY
        AS step (run_id, step_type, agent, name, parent_step, seed, started_at, input, input_exact, output, output_exact,
                 known, position)
), share AS (
    SELECT run_id, count(*) AS begun, count(output) AS done, min(known) AS known,
           array_agg(DISTINCT agent) FILTER (WHERE agent IS NOT NULL) AS agents
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
    SET steps = r.steps + locked.begun,
        finished = r.finished + locked.done,
        agents = CASE WHEN locked.agents IS NULL OR locked.agents <@ r.agents THEN r.agents
                      ELSE r.agents || ARRAY(SELECT agent
                                             FROM batch
                                             WHERE batch.run_id = r.run_id AND agent IS NOT NULL AND agent <> ALL (r.agents)
                                             GROUP BY agent
                                             ORDER BY min(position)) END
    FROM locked
    WHERE r.run_id = locked.run_id AND (locked.known IS NULL OR locked.known = r.steps)
    RETURNING r.run_id, r.steps - locked.begun AS steps, r.finished - locked.done AS finished
)
INSERT INTO agent_steps (run_id, step_number, step_type, agent, name, parent_step, seed, started_at, input, input_exact,
                         output, output_exact, finished_at, finished_before, finished_order, started_before)
SELECT run_id, run.steps + nth, step_type, agent, name, parent_step, seed, started_at, input::jsonb, input_exact::jsonb,
       output::jsonb, output_exact::jsonb,
       CASE WHEN output IS NOT NULL THEN started_at END,
       run.finished + nth_done - CASE WHEN output IS NOT NULL THEN 1 ELSE 0 END,
       CASE WHEN output IS NOT NULL THEN run.finished + nth_done END,
       CASE WHEN output IS NOT NULL THEN run.steps + nth END
FROM batch
JOIN run USING (run_id)
ORDER BY position
RETURNING run_id, step_number
