-- All that a replay through the agent's own code needs of a run's steps; of several with one number, the first.
-- A column that agent_steps lacks resolves to the NULL of `absent`, so a table of eight columns reads as well.
SELECT step.*
FROM (
    SELECT NULL::text AS agent, NULL::text AS name, NULL::int AS parent_step, NULL::timestamptz AS started_at,
           NULL::timestamptz AS finished_at, NULL::int AS finished_order, NULL::jsonb AS error, NULL::jsonb AS input_exact,
           NULL::jsonb AS output_exact, NULL::int AS input_base, NULL::int AS input_keep, NULL::text AS input_list,
           NULL::jsonb AS input_removed, NULL::int AS lane, NULL::jsonb AS drawn, NULL::jsonb AS random_after,
           NULL::text AS form, NULL::int AS tokens_in, NULL::int AS tokens_out, NULL::text AS finish_reason,
           NULL::int AS finished_before, NULL::int AS started_before, NULL::text AS backend
) AS absent
CROSS JOIN LATERAL (
    SELECT DISTINCT ON (step_number)
           step_number, step_type, agent, name, parent_step, started_at, finished_at, finished_order, error::text,
           input::text, input_exact::text, output::text, output_exact::text, input_base, input_keep, input_list,
           input_removed::text, lane, drawn, random_after::text, form, seed, tokens_in,
           tokens_out, finish_reason, finished_before, started_before, backend::text
    FROM agent_steps
    WHERE run_id = %(run_id)s
    ORDER BY step_number, id
) AS step
ORDER BY step_number
