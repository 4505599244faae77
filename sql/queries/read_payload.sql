-- What one step was given and gave; of several rows with one number, the first.
SELECT step.*
FROM (SELECT NULL::jsonb AS input_exact, NULL::jsonb AS output_exact, NULL::jsonb AS error) AS absent
CROSS JOIN LATERAL (
    SELECT step_number, input::text, output::text, input_exact::text, output_exact::text, error::text
    FROM agent_steps
    WHERE run_id = %(run_id)s AND step_number = %(number)s
    ORDER BY id
    LIMIT 1
) AS step
