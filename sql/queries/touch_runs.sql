-- Signs of life of a recorder behind a pooler. A run whose row is being written shows life by that, and is not waited for.
UPDATE agent_runs AS r
SET heartbeat = clock_timestamp()
FROM (SELECT run_id
      FROM agent_runs
      WHERE run_id = ANY (%(run_ids)s) AND status = 'running'
      ORDER BY run_id
      FOR NO KEY UPDATE SKIP LOCKED) AS mine
WHERE r.run_id = mine.run_id
