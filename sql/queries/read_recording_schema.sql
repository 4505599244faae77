-- Whether the tables are there that a recorder writes, and with the newest columns that it needs; and whether the role may
-- ask which server this is.
SELECT to_regclass('agent_runs') IS NOT NULL AND EXISTS (
           SELECT FROM pg_attribute WHERE attrelid = to_regclass('agent_steps') AND attname = 'random_after'),
       current_user, current_database(), current_setting('search_path'), pg_backend_pid(),
       has_function_privilege('pg_control_system()', 'EXECUTE')
       AND has_function_privilege('pg_current_wal_lsn()', 'EXECUTE')
       AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE')
