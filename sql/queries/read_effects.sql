-- What else a write to each of these watched tables may write to: what foreign keys carry on, and, where a trigger or a rule of
-- the owner's stands on the way, NULL for whatever there is. The number of the table that is written, and of the other one.
WITH RECURSIVE reached AS (
    SELECT id AS source, relation::oid AS oid, false AS is_carried FROM stepwell_log.tables WHERE id = ANY (%(ids)s::int8[])
    UNION
    SELECT reached.source, next.oid, reached.is_carried OR next.is_carried
    FROM reached CROSS JOIN LATERAL (
        SELECT conrelid AS oid, true AS is_carried FROM pg_constraint
        WHERE confrelid = reached.oid AND contype = 'f' AND (confdeltype IN ('c', 'n', 'd') OR confupdtype IN ('c', 'n', 'd'))
        UNION ALL SELECT inhrelid, false FROM pg_inherits WHERE inhparent = reached.oid
        UNION ALL SELECT inhparent, false FROM pg_inherits WHERE inhrelid = reached.oid
    ) AS next
)
SELECT reached.source, t.id FROM reached JOIN stepwell_log.tables t ON t.relation::oid = reached.oid WHERE reached.is_carried
UNION
SELECT source, NULL FROM reached
WHERE EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
              WHERE t.tgrelid = reached.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D'
                AND p.pronamespace <> 'stepwell_log'::regnamespace)
   OR EXISTS (SELECT FROM pg_rewrite WHERE ev_class = reached.oid AND rulename <> '_RETURN')
