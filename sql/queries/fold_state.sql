-- The state steps of a world, in the order in which they took effect. A step that never finished took none.
-- Of each only what the fold needs is read: the patch it was given, else the value it gave. Of each scope (an agent, and
-- the name that marks the shared one) those from the last state on that was recorded whole, if that is before step
-- %(here)s: what a step changed is told by the state before it.
-- Of the steps up to %(after)s only those in %(states)s are looked at: no other is part of the state. %(any_states)s:
-- whether there are any, which the planner would not see.
-- %(through)s: last step number that had begun; %(order)s: last finished_order in this world, or NULL;
-- %(number)s: last step number in this world for rows whose finishing order is not recorded.
WITH absent AS (
    SELECT NULL::text AS agent, NULL::text AS name, NULL::int AS finished_order,
           NULL::jsonb AS input_exact, NULL::jsonb AS output_exact
), whole AS MATERIALIZED (
    SELECT shared, scope, max(place) AS place
    FROM absent
    CROSS JOIN LATERAL (
        SELECT name IS NOT DISTINCT FROM 'shared' AS shared, CASE WHEN name IS DISTINCT FROM 'shared' THEN agent END AS scope,
               coalesce(finished_order, step_number) AS place
        FROM agent_steps
        WHERE run_id = %(run_id)s
          AND (step_number > %(after)s AND step_number <= %(through)s OR %(any_states)s AND step_number = ANY (%(states)s))
          -- As in its index. A plain AND would have long inputs of other steps read where that index is not used.
          AND CASE WHEN step_type = 'state_update' THEN input #> '{$patch,0,at}' IS NOT NULL END
          AND output IS NOT NULL AND step_number <> %(here)s
          AND CASE WHEN finished_order IS NULL OR %(order)s::int IS NULL THEN step_number <= %(number)s
                   ELSE finished_order <= %(order)s END
    ) AS step
    GROUP BY shared, scope
)
SELECT step.*
FROM absent
CROSS JOIN LATERAL (
    SELECT step_number, agent, name, is_patch,
           CASE WHEN is_patch THEN input ELSE output END::text,
           CASE WHEN is_patch THEN input_exact ELSE output_exact END::text
    FROM agent_steps
    CROSS JOIN LATERAL (
        SELECT CASE WHEN jsonb_typeof(input -> '$patch') = 'array' THEN input - '$patch' = '{}' ELSE false END AS is_patch
    ) AS kind
    WHERE run_id = %(run_id)s
      AND (step_number > %(after)s AND step_number <= %(through)s OR %(any_states)s AND step_number = ANY (%(states)s))
      AND step_type = 'state_update' AND output IS NOT NULL
      AND CASE WHEN finished_order IS NULL OR %(order)s::int IS NULL THEN step_number <= %(number)s
               ELSE finished_order <= %(order)s END
      AND coalesce(finished_order, step_number) >= coalesce((
          SELECT place
          FROM whole
          WHERE CASE WHEN name IS NOT DISTINCT FROM 'shared' THEN shared ELSE NOT shared AND scope IS NOT DISTINCT FROM agent END
      ), finished_order, step_number)
    ORDER BY coalesce(finished_order, step_number), step_number, id
) AS step (number, agent, name, is_patch, plain, exact)
