-- What has become of a run, for who decides whether it is worth keeping. Counts as committed so far.
SELECT name, tags, steps, steps - finished AS in_doubt, agents, loop, started_at,
       (SELECT count(*)::int FROM agent_steps AS s WHERE s.run_id = r.run_id AND s.error IS NOT NULL) AS raised
FROM agent_runs AS r
WHERE run_id = %(run_id)s
