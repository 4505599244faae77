-- How far some runs have got, and their statuses, as list_runs gives them.
-- A column that agent_runs lacks resolves to the NULL of `absent`.
SELECT run.run_id, run.status, run.steps, run.unfinished
FROM (SELECT NULL::timestamptz AS heartbeat) AS absent
CROSS JOIN LATERAL (
    SELECT run_id, steps, greatest(steps - finished, 0) AS unfinished,
           CASE WHEN status = 'running' AND NOT pg_is_in_recovery()
                 AND (heartbeat IS NULL OR heartbeat < now() - make_interval(secs => %(patience)s))
                 AND ('x' || left(replace(run_id::text, '-', ''), 16))::bit(64)::bigint NOT IN (
                     SELECT (classid::bigint << 32) | objid::bigint
                     FROM pg_locks
                     WHERE locktype = 'advisory' AND objsubid = 1
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
                THEN 'died' ELSE coalesce(status, 'unknown') END AS status
    FROM agent_runs
    WHERE run_id = ANY (%(run_ids)s)
) AS run
