-- For each stretch, the place in the order of finishing of the last state of each scope that was recorded whole, of those
-- that are settled as in fold_stretches.
SELECT stretch.last, whole.*
FROM unnest(%(afters)s::int8[], %(lasts)s::int8[]) AS stretch (after, last)
CROSS JOIN (
    SELECT NULL::text AS agent, NULL::text AS name, NULL::int AS finished_order
) AS absent
CROSS JOIN LATERAL (
    SELECT shared, scope, max(place)
    FROM (
        SELECT name IS NOT DISTINCT FROM 'shared' AS shared,
               CASE WHEN name IS DISTINCT FROM 'shared' THEN agent END AS scope,
               coalesce(finished_order, step_number) AS place
        FROM agent_steps
        WHERE run_id = %(run_id)s AND step_number > after AND step_number <= last
          -- As in its index; see fold_state.
          AND CASE WHEN step_type = 'state_update' THEN input #> '{$patch,0,at}' IS NOT NULL END
          AND output IS NOT NULL
    ) AS step
    WHERE place <= last
    GROUP BY shared, scope
) AS whole
