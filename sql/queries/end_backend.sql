-- End a session of ours whose connection was lost, so that nothing of it is still to come; waits for its end.
SELECT pg_terminate_backend(pid, 5000)
FROM pg_stat_activity
WHERE pid = %(pid)s AND pid <> pg_backend_pid() AND usename = current_user AND datname = current_database()
  AND application_name = current_setting('application_name') AND backend_start < now()
