-- The reply of the model call before step %(number)s of the same agent. Payloads are read of that one only,
-- and one that is too large is not, as in read_step: nobody would look through it.
SELECT step.*
FROM (SELECT NULL::jsonb AS output_exact, NULL::text AS agent) AS absent
CROSS JOIN LATERAL (
    SELECT step_number,
           CASE WHEN pg_column_size(output) > %(most)s THEN NULL
                WHEN pg_column_size(output) <= %(surely)s OR pg_column_size(output #> '{}') <= %(longest)s THEN output
                END::text AS output,
           output_exact::text
    FROM agent_steps
    WHERE run_id = %(run_id)s AND step_number < %(number)s AND step_type = 'llm_call'
      AND (agent = %(agent)s::text OR (agent IS NULL AND %(agent)s IS NULL))
      AND step_number = (
          SELECT step_number
          FROM agent_steps
          WHERE run_id = %(run_id)s AND step_number < %(number)s AND step_type = 'llm_call'
            AND (agent = %(agent)s OR (agent IS NULL AND %(agent)s IS NULL))
          ORDER BY step_number DESC
          LIMIT 1
      )
    ORDER BY id DESC
    LIMIT 1
) AS step
