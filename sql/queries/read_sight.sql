-- What the agent's own connection sees at this moment, as JSON for write_steps.sql; NULL on a standby, whose snapshots do
-- not say all that is in them. And which server process answers. The setting is where the triggers of watched tables say
-- how far the transaction has got in their logs; anybody may have set it to anything. No table is read, and no name is
-- looked for in the agent's search path.
SELECT pg_catalog.pg_backend_pid(),
       CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN
           pg_catalog.json_build_object(
               'server', pg_catalog.concat_ws(
                   ' ', extract(epoch FROM pg_catalog.pg_postmaster_start_time()),
                   pg_catalog.hashtextextended(pg_catalog.current_database(), 0)),
               'snapshot_before', pg_catalog.pg_current_snapshot()::pg_catalog.text,
               'own_before', pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text,
               'position_before', CASE WHEN pg_catalog.current_setting('stepwell.written', true)
                                            OPERATOR(pg_catalog.~) '^[0-9]{1,18}$'
                                       THEN pg_catalog.current_setting('stepwell.written', true)::pg_catalog.int8
                                       ELSE 0 END,
               'backend', pg_catalog.pg_backend_pid())::pg_catalog.text END
