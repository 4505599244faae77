-- Every watched table, what has become of it, and what that means to the snapshot %(snapshot)s (NULL where there is none).
WITH held AS MATERIALIZED (SELECT relation FROM pg_locks WHERE pid = pg_backend_pid() AND granted)
SELECT t.relation::oid AS oid, t.id, t.schema_name AS schema, t.table_name AS name, t.shadow, t.system_identifier AS system,
       stepwell_log.shape(t.relation::oid) AS shape, -- of its very type: whoever watches tables may make others of that name
       -- The partitions as they are by now, which takes locks: only where the whole is locked already, for it was read.
       CASE WHEN (SELECT relkind FROM pg_class WHERE oid = t.relation) = 'p' AND t.relation IN (SELECT relation FROM held)
            THEN ARRAY(SELECT relid::oid::text FROM pg_partition_tree(t.relation)) END AS parts,
       coalesce(has_table_privilege(t.relation::oid, 'SELECT'), false) AS readable,
       coalesce(has_table_privilege(log.oid, 'SELECT'), false) AS log_readable,
       log.oid IS NOT NULL AS logged,
       coalesce((SELECT has_table_privilege(f.proowner, log.oid, 'INSERT')
                        AND has_table_privilege(f.proowner, 'stepwell_log.losses', 'INSERT')
                 FROM pg_proc f WHERE f.pronamespace = 'stepwell_log'::regnamespace
                  AND f.proname = format('t%%s_capture', t.id)), false) AS writable,
       to_regclass(format('%%I.%%I', t.shadow, t.table_name)) IS NOT NULL AS viewed,
       coalesce(t.pruned_to > pg_snapshot_xmin(given.snapshot), false) AS pruned,
       (SELECT jsonb_agg(jsonb_build_array(pg_visible_in_snapshot(s.xid, given.snapshot), s.why, s.shape,
                                           to_char(s.at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || 'Z') ORDER BY s.id)
        FROM stepwell_log.shapes s WHERE s.relation = t.relation) AS shapes,
       -- What watching again makes good for (`core.verdicts.CHANGED`) counts least.
       (SELECT coalesce(min(l.why) FILTER (WHERE l.why <> 'changed after it was watched'), min(l.why))
        FROM stepwell_log.losses l
        WHERE l.relation = t.relation AND NOT pg_visible_in_snapshot(l.xid, given.snapshot)) AS lost
FROM stepwell_log.tables t
LEFT JOIN pg_class log ON log.relnamespace = 'stepwell_log'::regnamespace AND log.relname = 't' || t.id
CROSS JOIN (SELECT %(snapshot)s::text::pg_snapshot AS snapshot) AS given
ORDER BY t.schema_name, t.table_name
