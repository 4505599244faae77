-- The instants of all steps of a run that have an outcome and one of each side, see read_instants.
SELECT step.*
FROM (
    SELECT NULL::text AS snapshot_before, NULL::text AS snapshot_after, NULL::text AS own_before, NULL::text AS own_after,
           NULL::text AS position_before, NULL::text AS position_after, NULL::text AS backend,
           NULL::jsonb AS error, NULL::timestamptz AS finished_at
) AS absent
CROSS JOIN LATERAL (
    SELECT step_number, snapshot_before::text, own_before::text, position_before::text, backend::text,
           snapshot_after::text, own_after::text, position_after::text
    FROM agent_steps
    WHERE run_id = %(run_id)s
      AND snapshot_before::text ~ '^\d+:\d+:(\d+(,\d+)*)?$' AND snapshot_after::text ~ '^\d+:\d+:(\d+(,\d+)*)?$'
      AND num_nonnulls(output, error, finished_at) > 0
    ORDER BY step_number, id
) AS step
