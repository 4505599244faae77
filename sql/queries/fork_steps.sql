-- The steps that a branch has of its own: step %(number)s with another outcome, and others as they were, but for their
-- place in the order of finishing and for how many had finished `before`, for their outcome where that is `open`, and for
-- an input that is the difference to one of another run, which is `given` whole.
INSERT INTO agent_steps (run_id, step_number, step_type, input, output, created_at, seed, agent, name, parent_step,
                         started_at, finished_at, finished_order, finished_before, started_before, error, input_exact,
                         output_exact, tokens_in, tokens_out, finish_reason, call_hash, input_base, input_keep, input_list,
                         input_removed, lane, drawn, random_after, form, snapshot_before, snapshot_after, own_before,
                         own_after, position_before, position_after, backend)
SELECT %(branch)s, step_number, step_type, coalesce(given::jsonb, input),
       CASE WHEN edited THEN %(output)s::jsonb WHEN NOT open THEN output END, created_at, seed, agent, name, parent_step,
       started_at, CASE WHEN NOT open THEN finished_at END, place, before,
       CASE WHEN NOT open THEN started_before END, CASE WHEN NOT edited AND NOT open THEN error END,
       CASE WHEN given IS NULL THEN input_exact ELSE given_exact::jsonb END,
       CASE WHEN edited THEN %(output_exact)s::jsonb WHEN NOT open THEN output_exact END,
       CASE WHEN NOT open THEN tokens_in END, CASE WHEN NOT open THEN tokens_out END,
       CASE WHEN NOT open THEN finish_reason END, CASE WHEN NOT edited AND NOT open THEN call_hash END,
       CASE WHEN given IS NULL THEN input_base END, CASE WHEN given IS NULL THEN input_keep END,
       CASE WHEN given IS NULL THEN input_list END, CASE WHEN given IS NULL THEN input_removed END,
       lane, drawn, CASE WHEN NOT open THEN random_after END,
       CASE WHEN NOT open THEN form END, snapshot_before, CASE WHEN NOT open THEN snapshot_after END, own_before,
       CASE WHEN NOT open THEN own_after END, position_before, CASE WHEN NOT open THEN position_after END, backend
FROM unnest(%(numbers)s::int8[], %(places)s::int8[], %(befores)s::int8[], %(opens)s::bool[], %(inputs)s::text[],
            %(exacts)s::text[]) AS own (number, place, before, open, given, given_exact)
CROSS JOIN LATERAL ( -- by the index, whatever the planner knows of the table; of several with one number the first
    SELECT * FROM agent_steps WHERE run_id = %(run_id)s AND step_number = number ORDER BY id LIMIT 1
) AS step
CROSS JOIN LATERAL (SELECT step_number = %(number)s) AS one (edited)
ORDER BY step_number
