-- A branch of a run, begun and ended now. Its steps of before ask for what the run asked for since that began.
INSERT INTO agent_runs (run_id, name, status, tags, steps, finished, agents, started_at, finished_at, error, loop, source,
                        seed, random, zone, connection, drawn, result, result_exact, system_identifier, timeline, snapshot,
                        parent_run_id, forked_at_step)
SELECT %(branch)s, coalesce(%(name)s::text, name), CASE WHEN %(whole)s THEN status END, tags, %(steps)s, %(finished)s,
       agents, now(), now(), CASE WHEN %(whole)s THEN error END,
       CASE WHEN (loop ->> 'last')::numeric < %(number)s THEN loop END, source, seed, random, zone, connection,
       CASE WHEN %(whole)s THEN drawn END, CASE WHEN %(whole)s THEN result END,
       CASE WHEN %(whole)s THEN result_exact END, system_identifier, timeline, snapshot, run_id, %(number)s
FROM agent_runs
WHERE run_id = %(run_id)s
RETURNING run_id
