-- How many runs there are: counted up to a bound, else the planner's estimate.
SELECT CASE WHEN few.n <= %(bound)s THEN few.n
            ELSE greatest(few.n, (SELECT reltuples::bigint FROM pg_class WHERE oid = 'agent_runs'::regclass)) END,
       few.n <= %(bound)s
FROM (SELECT count(*) AS n FROM (SELECT FROM agent_runs LIMIT %(bound)s + 1) AS counted) AS few
