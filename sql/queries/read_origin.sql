-- Which server the instants of a run belong to; NULL where that was not recorded.
SELECT run.system_identifier, run.timeline
FROM (SELECT NULL::bigint AS system_identifier, NULL::int AS timeline) AS absent
CROSS JOIN LATERAL (
    SELECT system_identifier::bigint, timeline::int FROM agent_runs WHERE run_id = %(run_id)s
) AS run
