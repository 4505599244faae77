-- What the agent's own connection sees at this moment, as JSON for write_steps.sql; NULL on a standby, whose snapshots do
-- not say all that is in them, and where the transaction has written and its role may not know how far the logs have got.
-- And which server process answers. Nothing is read but catalogs, and no name is looked for in the agent's search path.
SELECT pg_catalog.pg_backend_pid(),
       CASE WHEN pg_catalog.pg_is_in_recovery() OR log.position IS NULL THEN NULL ELSE
           pg_catalog.json_build_object(
               'server', pg_catalog.concat_ws(
                   ' ', extract(epoch FROM pg_catalog.pg_postmaster_start_time()),
                   pg_catalog.hashtextextended(pg_catalog.current_database(), 0)),
               'snapshot_before', pg_catalog.pg_current_snapshot()::pg_catalog.text,
               'own_before', log.own, 'position_before', log.position, 'backend', pg_catalog.pg_backend_pid())::pg_catalog.text END
FROM (
    SELECT own,
           CASE WHEN own IS NULL OR sequence IS NULL THEN 0
                WHEN pg_catalog.has_sequence_privilege(sequence, 'USAGE, SELECT')
                THEN coalesce(pg_catalog.pg_sequence_last_value(sequence), 0) END AS position
    FROM (
        SELECT pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text AS own,
               (SELECT c.oid
                FROM pg_catalog.pg_class AS c
                WHERE c.relname OPERATOR(pg_catalog.=) 'position' AND c.relkind OPERATOR(pg_catalog.=) 'S'
                  AND c.relnamespace OPERATOR(pg_catalog.=) (
                      SELECT n.oid FROM pg_catalog.pg_namespace AS n
                      WHERE n.nspname OPERATOR(pg_catalog.=) 'stepwell_log')) AS sequence
        OFFSET 0
    ) AS found
    OFFSET 0
) AS log
