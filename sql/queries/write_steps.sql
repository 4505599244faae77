-- Write a batch of steps in one go: those that finish, then those that begin, so that a step that waited for another to
-- end is seen to begin after it. The arrays hold one element a step, named done_… for those that finish.
-- A step that is finished already is left as it is, so that a batch may be sent again. One that begins with an outcome
-- has it from the start, as a state update does. Where a run's steps name in `known` the last number that their recorder
-- knows of, they are left out if there is a newer one.
-- Returns what was written: the place in the batch, and the number of a step that begins.
WITH done AS (
    SELECT done.*, row_number() OVER (PARTITION BY done.run_id ORDER BY done.position) AS nth
    FROM unnest(%(done_run_id)s::uuid[], %(done_step_number)s::int8[], %(done_output)s::text[],
                %(done_output_exact)s::text[], %(done_error)s::text[], %(done_finished_at)s::timestamptz[],
                %(done_tokens_in)s::int8[], %(done_tokens_out)s::int8[], %(done_finish_reason)s::text[],
                %(done_call_hash)s::int8[], %(done_loop)s::text[]) WITH ORDINALITY
        AS done (run_id, step_number, output, output_exact, error, finished_at, tokens_in, tokens_out, finish_reason,
                 call_hash, loop, position)
    JOIN agent_steps s ON s.run_id = done.run_id AND s.step_number = done.step_number AND s.finished_at IS NULL
), begun AS (
    SELECT *,
           row_number() OVER (PARTITION BY run_id ORDER BY position) AS nth,
           count(*) FILTER (WHERE output IS NOT NULL) OVER (PARTITION BY run_id ORDER BY position) AS nth_done
    FROM unnest(%(run_id)s::uuid[], %(step_type)s::text[], %(agent)s::text[], %(name)s::text[], %(parent_step)s::int8[],
                %(seed)s::int8[], %(started_at)s::timestamptz[], %(input)s::text[], %(input_exact)s::text[],
                %(output)s::text[], %(output_exact)s::text[], %(known)s::int8[], %(input_base)s::int8[],
                %(input_keep)s::int8[], %(input_list)s::text[], %(input_removed)s::text[]) WITH ORDINALITY
        AS step (run_id, step_type, agent, name, parent_step, seed, started_at, input, input_exact, output, output_exact,
                 known, input_base, input_keep, input_list, input_removed, position)
), share AS (
    SELECT run_id, sum(done) AS done, (array_agg(loop) FILTER (WHERE loop IS NOT NULL))[1] AS loop,
           sum(begun) AS begun, sum(begun_done) AS begun_done, min(known) AS known,
           (array_agg(agents) FILTER (WHERE agents IS NOT NULL)) AS agents
    FROM (SELECT run_id, count(*) AS done,
                 (array_agg(loop ORDER BY position DESC) FILTER (WHERE loop IS NOT NULL))[1] AS loop,
                 0 AS begun, 0 AS begun_done, NULL::int8 AS known, NULL::text[] AS agents
          FROM done
          GROUP BY run_id
          UNION ALL
          SELECT run_id, 0, NULL, count(*), count(output), min(known),
                 array_agg(DISTINCT agent) FILTER (WHERE agent IS NOT NULL)
          FROM begun
          GROUP BY run_id) AS part
    GROUP BY run_id
), locked AS MATERIALIZED ( -- in one order everywhere, so that two batches never wait for each other
    SELECT share.*, r.steps, r.finished, known IS NULL OR known = r.steps AS begins
    FROM agent_runs AS r
    JOIN share USING (run_id)
    ORDER BY run_id
    FOR NO KEY UPDATE OF r
), run AS (
    UPDATE agent_runs AS r
    SET steps = r.steps + CASE WHEN begins THEN begun ELSE 0 END,
        finished = r.finished + done + CASE WHEN begins THEN begun_done ELSE 0 END,
        loop = coalesce(locked.loop::jsonb, r.loop),
        heartbeat = CASE WHEN r.heartbeat IS NOT NULL THEN now() END,
        agents = CASE WHEN NOT begins OR locked.agents IS NULL OR locked.agents <@ r.agents THEN r.agents
                      ELSE r.agents || ARRAY(SELECT agent
                                             FROM begun
                                             WHERE begun.run_id = r.run_id AND agent IS NOT NULL AND agent <> ALL (r.agents)
                                             GROUP BY agent
                                             ORDER BY min(position)) END
    FROM locked
    WHERE r.run_id = locked.run_id
    RETURNING r.run_id, locked.steps, locked.finished, locked.done, locked.begins
), ended AS (
    UPDATE agent_steps AS s
    SET output = done.output::jsonb, output_exact = done.output_exact::jsonb, error = done.error::jsonb,
        finished_at = done.finished_at, finished_order = run.finished + done.nth, started_before = run.steps,
        tokens_in = done.tokens_in, tokens_out = done.tokens_out, finish_reason = done.finish_reason,
        call_hash = done.call_hash
    FROM done
    JOIN run USING (run_id)
    WHERE s.run_id = done.run_id AND s.step_number = done.step_number
    RETURNING done.position
), added AS (
    INSERT INTO agent_steps (run_id, step_number, step_type, agent, name, parent_step, seed, started_at, input,
                             input_exact, input_base, input_keep, input_list, input_removed, output, output_exact,
                             finished_at, finished_before, finished_order, started_before)
    SELECT run_id, run.steps + nth, step_type, agent, name, parent_step, seed, started_at, input::jsonb,
           input_exact::jsonb, input_base, input_keep, input_list, input_removed::jsonb, output::jsonb, output_exact::jsonb,
           CASE WHEN output IS NOT NULL THEN started_at END,
           run.finished + run.done + nth_done - CASE WHEN output IS NOT NULL THEN 1 ELSE 0 END,
           CASE WHEN output IS NOT NULL THEN run.finished + run.done + nth_done END,
           CASE WHEN output IS NOT NULL THEN run.steps + nth END
    FROM begun
    JOIN run USING (run_id)
    WHERE run.begins
    ORDER BY position
)
SELECT position, NULL::int8 AS step_number
FROM ended
UNION ALL
SELECT position, run.steps + nth
FROM begun
JOIN run USING (run_id)
WHERE run.begins
