-- Who keeps readers out of the two tables: those that have such a lock before those that wait for one.
SELECT pid, coalesce(nullif(application_name, ''), backend_type, 'another session') AS who, relation::regclass::text
FROM pg_locks
JOIN pg_stat_activity USING (pid)
WHERE relation IN (to_regclass('agent_steps'), to_regclass('agent_runs')) AND mode = 'AccessExclusiveLock'
  AND pid <> pg_backend_pid()
ORDER BY granted DESC, xact_start
LIMIT 1
