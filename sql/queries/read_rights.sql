-- What this role may do here beyond reading, to Stepwell's own tables and to those that are watched; and which limits in
-- milliseconds it was given (0 for none).
-- A server on Linux can look whether its client is still there, and give up a client that no longer takes what is sent.
SELECT rolname, rolsuper AS superuser, tables.owned, tables.written,
       array_remove(ARRAY[
           CASE WHEN rolbypassrls THEN 'BYPASSRLS' END,
           CASE WHEN rolreplication THEN 'REPLICATION' END,
           CASE WHEN rolcreaterole THEN 'CREATEROLE' END,
           CASE WHEN rolcreatedb THEN 'CREATEDB' END,
           CASE WHEN pg_has_role('pg_execute_server_program', 'USAGE') THEN 'pg_execute_server_program' END,
           CASE WHEN pg_has_role('pg_write_server_files', 'USAGE') THEN 'pg_write_server_files' END,
           CASE WHEN pg_has_role('pg_write_all_data', 'USAGE') THEN 'pg_write_all_data' END
       ], NULL) AS powers,
       limits.statement_ms, limits.lock_ms, limits.idle_ms,
       position('linux' IN version()) > 0 AS watches
FROM pg_roles
CROSS JOIN (
    SELECT coalesce(bool_or(pg_has_role(relowner, 'USAGE')), false) AS owned,
           coalesce(bool_or(has_table_privilege(pg_class.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')), false) AS written
    FROM pg_class
    WHERE pg_class.oid IN (to_regclass('agent_steps'), to_regclass('agent_runs'))
       OR pg_class.oid IN (SELECT tgrelid FROM pg_trigger WHERE tgname = '!stepwell')
) AS tables
CROSS JOIN (
    SELECT max(reset_val::int) FILTER (WHERE name = 'statement_timeout') AS statement_ms,
           max(reset_val::int) FILTER (WHERE name = 'lock_timeout') AS lock_ms,
           max(reset_val::int) FILTER (WHERE name = 'idle_in_transaction_session_timeout') AS idle_ms
    FROM pg_settings
    WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')
) AS limits
WHERE rolname = current_user
