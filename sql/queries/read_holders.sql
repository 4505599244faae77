-- Who keeps a trigger from being put on %(table)s or one of its partitions, or has this turn: those that hold a lock before
-- those that wait for one. Whose they are is for their own role to see.
WITH RECURSIVE tree AS ( -- pg_partition_tree() would wait for them
    SELECT to_regclass(%(table)s)::oid AS relid
    UNION ALL
    SELECT i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.relid
)
SELECT l.pid, coalesce(nullif(a.application_name, ''), a.backend_type, 'another session') AS who,
       l.locktype = 'advisory' AS watching
FROM pg_locks l
JOIN pg_stat_activity a USING (pid)
WHERE l.pid <> pg_backend_pid() AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (l.locktype = 'advisory' AND l.objsubid = 1 AND l.classid = 0 AND l.objid::bigint = %(turn)s
       OR l.locktype = 'relation' AND l.mode NOT IN ('AccessShareLock', 'RowShareLock')
          AND l.relation IN (SELECT relid FROM tree))
ORDER BY l.granted DESC, a.xact_start
LIMIT 1
