-- The instants of step %(number)s, or of all steps where that is NULL, as their recorder has noted them: what a snapshot saw, the
-- transaction that was under way on the agent's connection, how far the change logs had got, each before the call and after
-- it. As texts: columns of these names may be somebody else's. And whether the step has an outcome, which
-- transaction wrote the row last, and whether runs have rows.
SELECT step.*, to_regclass('agent_runs') IS NOT NULL AS has_runs
FROM (
    SELECT NULL::text AS snapshot_before, NULL::text AS snapshot_after, NULL::text AS own_before, NULL::text AS own_after,
           NULL::text AS position_before, NULL::text AS position_after, NULL::text AS backend,
           NULL::jsonb AS error, NULL::timestamptz AS finished_at, NULL::xid AS xmin
) AS absent
CROSS JOIN LATERAL (
    SELECT step_number, snapshot_before::text, own_before::text, position_before::text, backend::text,
           snapshot_after::text, own_after::text, position_after::text,
           num_nonnulls(output, error, finished_at) > 0 AS finished, xmin::text AS noted
    FROM agent_steps
    WHERE run_id = %(run_id)s AND (%(number)s::bigint IS NULL OR step_number = %(number)s::bigint)
    ORDER BY step_number, id
    LIMIT CASE WHEN %(number)s::bigint IS NOT NULL THEN 1 END
) AS step
