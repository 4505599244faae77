-- What has become of a run, for who decides whether it is worth keeping. Counts as committed so far.
SELECT name, tags, steps, steps - finished AS in_doubt, agents, loop, started_at,
       (SELECT count(*)::int FROM agent_steps WHERE run_id = %(run_id)s AND error IS NOT NULL) AS raised
FROM agent_runs
WHERE %(run_id)s = run_id -- the other way round, since this is no question for steps
