-- Which steps of a file are in the run already, and under what number: those begun in the same microsecond with the same
-- content. The arrays hold one element a step; `sent` is a second form that its input may have been recorded in.
SELECT step.position, s.step_number
FROM unnest(%(step_type)s::text[], %(agent)s::text[], %(name)s::text[], %(started_at)s::timestamptz[],
            %(input)s::text[], %(sent)s::text[]) WITH ORDINALITY
    AS step (step_type, agent, name, started_at, input, sent, position)
JOIN agent_steps s ON s.run_id = %(run_id)s AND s.step_number > %(after)s AND s.started_at = step.started_at
WHERE s.step_type = step.step_type AND s.agent IS NOT DISTINCT FROM step.agent AND s.name IS NOT DISTINCT FROM step.name
  AND (s.input = step.input::jsonb OR s.input = step.sent::jsonb)
ORDER BY s.step_number, step.position
