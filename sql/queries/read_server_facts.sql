-- Of the server, for the doctor: its version, its clock, and how many connections there are and may be. Those that a role
-- may not see are counted as well.
SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
       pg_is_in_recovery() AS standby,
       pg_backend_pid() AS backend,
       extract(epoch FROM clock_timestamp())::float8 AS clock,
       current_setting('TimeZone') AS timezone,
       current_setting('default_transaction_read_only') = 'on' AS read_only,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) AS most,
       (SELECT sum(numbackends)::int FROM pg_stat_database) AS used
