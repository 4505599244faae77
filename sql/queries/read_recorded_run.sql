-- What a replay needs of a run beside its steps, `first` being the run that it has its first steps from. No row where
-- runs have no rows of their own. A column that agent_runs lacks resolves to the NULL of `absent`.
SELECT run.*
FROM (
    SELECT NULL::bigint AS seed, NULL::jsonb AS random, NULL::text AS zone, NULL::jsonb AS connection, NULL::jsonb AS drawn,
           NULL::jsonb AS result, NULL::jsonb AS result_exact
) AS absent
CROSS JOIN LATERAL (
    SELECT seed, random::text, zone, connection::text, drawn, result::text, result_exact::text,
           (SELECT started_at FROM agent_runs WHERE run_id = %(first)s) AS started_at
    FROM agent_runs
    WHERE run_id = %(run_id)s
) AS run
