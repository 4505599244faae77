-- Which cluster this is, and on which timeline its server writes; NULL on a standby. The last checkpoint would tell an
-- older one for a while after a fail-over.
SELECT system_identifier,
       CASE WHEN NOT pg_is_in_recovery()
            THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline
FROM pg_control_system()
