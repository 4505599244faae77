-- A run that was taken up again while its database took nothing.
UPDATE agent_runs
SET status = 'running', finished_at = NULL, error = NULL
WHERE run_id = %(run_id)s AND status IS DISTINCT FROM 'running'
