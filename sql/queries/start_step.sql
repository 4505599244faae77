-- Begin one step without an outcome whose input is whole, with less work for the server than a batch of one; the meaning
-- is that of write_steps.sql.
WITH run AS (
    UPDATE agent_runs
    SET steps = steps + 1,
        heartbeat = CASE WHEN heartbeat IS NOT NULL THEN now() END,
        agents = CASE WHEN %(agent)b::text IS NULL OR %(agent)b = ANY (agents) THEN agents ELSE agents || %(agent)b END
    WHERE run_id = %(run_id)b::uuid AND (%(known)b::int8 IS NULL OR %(known)b = steps)
    RETURNING steps, finished
)
INSERT INTO agent_steps (run_id, step_number, step_type, agent, name, parent_step, seed, started_at, input, input_exact,
                         lane, drawn, finished_before, snapshot_before)
SELECT %(run_id)b, steps, %(step_type)b::text, %(agent)b, %(name)b::text, %(parent_step)b::int8, %(seed)b::int8,
       %(started_at)b::timestamptz, %(input)b::text::jsonb, %(input_exact)b::text::jsonb, %(lane)b::int8,
       %(drawn)b::text::jsonb, finished, CASE WHEN %(now)b::bool THEN pg_current_snapshot() END
FROM run
RETURNING run_id, step_number
