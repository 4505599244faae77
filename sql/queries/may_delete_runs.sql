-- Whether this role may delete runs, as take_prunable.sql, delete_steps.sql and delete_runs.sql do.
SELECT bool_and(has_table_privilege(name, 'DELETE')) AND has_any_column_privilege('agent_runs', 'UPDATE')
FROM (VALUES ('agent_runs'), ('agent_steps')) AS tables (name)
