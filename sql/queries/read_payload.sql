-- What one step gave; of several rows with one number, the first.
SELECT step.*
FROM (SELECT NULL::jsonb AS output_exact, NULL::jsonb AS error) AS absent
CROSS JOIN LATERAL (
    SELECT output::text, output_exact::text, error::text
    FROM agent_steps
    WHERE run_id = %(run_id)s AND step_number = %(number)s
    ORDER BY id
    LIMIT 1
) AS step
