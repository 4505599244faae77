-- The first model call after step %(number)s of the same agent.
SELECT step.*
FROM (SELECT NULL::jsonb AS input_exact, NULL::text AS agent) AS absent
CROSS JOIN LATERAL (
    SELECT step_number, input::text, input_exact::text
    FROM agent_steps
    WHERE run_id = %(run_id)s AND step_number > %(number)s AND step_type = 'llm_call'
      AND agent IS NOT DISTINCT FROM %(agent)s
    ORDER BY step_number, id
    LIMIT 1
) AS step
