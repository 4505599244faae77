-- Whether the tables are there that a recorder writes, and with the newest columns that it needs.
SELECT to_regclass('agent_runs') IS NOT NULL AND EXISTS (
           SELECT FROM pg_attribute WHERE attrelid = to_regclass('agent_steps') AND attname = 'position_after'),
       current_user, current_database(), current_setting('search_path'), pg_backend_pid()
