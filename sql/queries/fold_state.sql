-- The state steps of a world, in the order in which they took effect. A step that never finished took none.
-- %(through)s: last step number that had begun; %(order)s: last finished_order in this world, or NULL;
-- %(number)s: last step number in this world for rows whose finishing order is not recorded.
SELECT step.*
FROM (
    SELECT NULL::text AS agent, NULL::text AS name, NULL::int AS finished_order,
           NULL::jsonb AS input_exact, NULL::jsonb AS output_exact
) AS absent
CROSS JOIN LATERAL (
    SELECT step_number, agent, name, input::text, input_exact::text, output::text, output_exact::text
    FROM agent_steps
    WHERE run_id = %(run_id)s AND step_number <= %(through)s AND step_type = 'state_update'
      AND output IS NOT NULL
      AND CASE WHEN finished_order IS NULL OR %(order)s::int IS NULL THEN step_number <= %(number)s
               ELSE finished_order <= %(order)s END
    ORDER BY coalesce(finished_order, step_number), step_number, id
) AS step
