-- Begin one step, with less work for the server than a batch of one; the meaning is that of write_steps.sql.
WITH run AS (
    UPDATE agent_runs
    SET steps = steps + 1,
        finished = finished + CASE WHEN %(output)b::text IS NULL THEN 0 ELSE 1 END,
        heartbeat = CASE WHEN heartbeat IS NOT NULL THEN now() END,
        agents = CASE WHEN %(agent)b::text IS NULL OR %(agent)b = ANY (agents) THEN agents ELSE agents || %(agent)b END
    WHERE run_id = %(run_id)b::uuid AND (%(known)b::int8 IS NULL OR %(known)b = steps)
    RETURNING steps, finished
)
INSERT INTO agent_steps (run_id, step_number, step_type, agent, name, parent_step, seed, started_at, input, input_exact,
                         input_base, input_keep, input_list, input_removed, output, output_exact, finished_at, finished_before, finished_order, started_before)
SELECT %(run_id)b, steps, %(step_type)b::text, %(agent)b, %(name)b::text, %(parent_step)b::int8, %(seed)b::int8,
       %(started_at)b::timestamptz, %(input)b::text::jsonb, %(input_exact)b::text::jsonb,
       %(input_base)b::int8, %(input_keep)b::int8, %(input_list)b::text, %(input_removed)b::text::jsonb,
       %(output)b::jsonb, %(output_exact)b::text::jsonb,
       CASE WHEN %(output)b IS NOT NULL THEN %(started_at)b END,
       CASE WHEN %(output)b IS NULL THEN finished ELSE finished - 1 END,
       CASE WHEN %(output)b IS NOT NULL THEN finished END,
       CASE WHEN %(output)b IS NOT NULL THEN steps END
FROM run
RETURNING run_id, step_number
