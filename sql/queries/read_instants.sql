-- The instants of a step, as its recorder has noted them: what a snapshot saw, the transaction that was under way on the
-- agent's connection, how far the change logs had got, each before the call and after it; and whether runs have rows.
SELECT step.*, to_regclass('agent_runs') IS NOT NULL AS has_runs
FROM (
    SELECT NULL::text AS snapshot_before, NULL::text AS snapshot_after, NULL::bigint AS own_before,
           NULL::bigint AS own_after, NULL::bigint AS position_before, NULL::bigint AS position_after,
           NULL::int AS backend
) AS absent
CROSS JOIN LATERAL (
    SELECT snapshot_before::text, own_before::text::bigint, position_before::bigint, backend::int,
           snapshot_after::text, own_after::text::bigint, position_after::bigint,
           output IS NOT NULL AS has_output
    FROM agent_steps
    WHERE run_id = %(run_id)s AND step_number = %(number)s
    ORDER BY id
    LIMIT 1
) AS step
