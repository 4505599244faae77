-- What decides whether a snapshot means anything on this server now, and what has become of transaction
-- %(own)s: its `fate` is NULL where that is too long ago to be known. Which server this is, is asked where the role may:
-- the planner leaves the rest out before anybody looks whether it may be called.
SELECT CASE WHEN %(may_ask)s::bool THEN (SELECT system_identifier FROM pg_control_system()) END AS system,
       pg_current_snapshot()::text AS now,
       pg_snapshot_xmax(pg_current_snapshot())::text::numeric AS next,
       current_schemas(false) AS path,
       -- One that no snapshot has got to is open, or of another server; to ask for that would be an error.
       CASE WHEN pg_is_in_recovery() THEN NULL
            WHEN %(own)s::text::xid8 < pg_snapshot_xmax(pg_current_snapshot()) THEN pg_xact_status(%(own)s::text::xid8)
            WHEN %(own)s::text IS NOT NULL THEN 'in progress' END AS fate,
       pg_is_in_recovery() AS standby,
       CASE WHEN %(may_ask)s::bool
            THEN CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
                      ELSE ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int END END AS timeline
