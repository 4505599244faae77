-- Which server the instants of a run belong to, and what a snapshot saw when it began; NULL where that was not recorded.
SELECT run.system_identifier, run.timeline, run.snapshot
FROM (SELECT NULL::bigint AS system_identifier, NULL::int AS timeline, NULL::text AS snapshot) AS absent
CROSS JOIN LATERAL (
    SELECT system_identifier::bigint, timeline::int, snapshot::text FROM agent_runs WHERE run_id = %(run_id)s
) AS run
