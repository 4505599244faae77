-- The numbers of steps that were begun exactly so: how a recorder learns whether a lost connection committed its own.
SELECT step_number
FROM agent_steps
WHERE run_id = %(run_id)s AND step_number > %(after)s AND started_at = %(started_at)s AND step_type = %(step_type)s
  AND agent IS NOT DISTINCT FROM %(agent)s::text AND name IS NOT DISTINCT FROM %(name)s::text
  AND input = %(input)s::jsonb
ORDER BY step_number
