-- The last finished tool calls of a run, enough to go on with the loops that it is in.
SELECT agent, step_number, name, call_hash
FROM (SELECT agent, step_number, name, call_hash, finished_order
      FROM agent_steps
      WHERE run_id = %(run_id)s AND step_type = 'tool_call' AND call_hash IS NOT NULL AND finished_order IS NOT NULL
      ORDER BY step_number DESC
      LIMIT 5000) AS call
ORDER BY finished_order
