-- Roles, each just enough for its job. Run once as the owner of the tables, after the schema:
--     psql -f sql/roles.sql
-- then:  GRANT stepwell_recorder TO my_agent;  GRANT stepwell_debugger TO alice;  GRANT stepwell_pruner TO a_timer;
-- Grants hold for the schema that comes first in the search_path.
--
-- Who owns tables that are to be watched (stepwell watch) becomes a member of one more, so that several owners may have
-- theirs watched in one database:      GRANT stepwell_watcher TO the_owner_of_the_shop;
-- Run it as a superuser then, or as the owner of the database who may make roles, and have the first table watched by one:
-- the schema stepwell_log becomes theirs, and whose it is all whose tables are watched must trust. The members trust one
-- another: each may change what all of them share there, and make functions beside the shared ones. The triggers on tables
-- of superusers run as stepwell_log_writer, which is made when one is watched, and of which nobody is made a member.

DO $$
DECLARE
    made TEXT;
BEGIN
    FOREACH made IN ARRAY ARRAY['stepwell_recorder', 'stepwell_debugger', 'stepwell_pruner', 'stepwell_watcher'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = made) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', made);
        END IF;
    END LOOP;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO stepwell_recorder, stepwell_debugger, stepwell_pruner', current_schema());
    IF pg_get_serial_sequence('agent_steps', 'id') IS NOT NULL THEN -- a serial id takes its numbers in the name of who inserts
        EXECUTE format('GRANT USAGE ON SEQUENCE %s TO stepwell_recorder', pg_get_serial_sequence('agent_steps', 'id'));
    END IF;
END $$;

GRANT SELECT, INSERT, UPDATE ON agent_steps, agent_runs TO stepwell_recorder;
GRANT SELECT ON stepwell_migrations TO stepwell_recorder;
GRANT SELECT ON agent_steps, agent_steps_full, agent_runs, stepwell_migrations TO stepwell_debugger;
GRANT SELECT, DELETE ON agent_steps, agent_runs TO stepwell_pruner;
GRANT UPDATE (keep) ON agent_runs TO stepwell_pruner; -- to hold the row of a run while its steps are deleted, and to mark it

DO $$
DECLARE
    what TEXT;
BEGIN
    EXECUTE format('GRANT CREATE ON DATABASE %I TO stepwell_watcher', current_database());
    IF to_regclass('stepwell_log.tables') IS NULL THEN
        RETURN;
    END IF;
    -- Tables were watched before there was this role.
    GRANT USAGE, CREATE ON SCHEMA stepwell_log TO stepwell_watcher WITH GRANT OPTION;
    GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell_log.tables, stepwell_log.shapes, stepwell_log.losses
        TO stepwell_watcher WITH GRANT OPTION;
    GRANT USAGE, SELECT ON SEQUENCE stepwell_log.position, stepwell_log.tables_id_seq TO stepwell_watcher WITH GRANT OPTION;
    GRANT EXECUTE ON FUNCTION stepwell_log.image(OID, OID, ANYELEMENT), stepwell_log.lose(OID, TEXT)
        TO stepwell_watcher WITH GRANT OPTION;
    GRANT UPDATE (pruned_to) ON stepwell_log.tables TO stepwell_pruner;
    GRANT DELETE ON stepwell_log.losses, stepwell_log.shapes TO stepwell_pruner;
    FOR what IN SELECT format('stepwell_log.t%s', id) FROM stepwell_log.tables
                WHERE to_regclass(format('stepwell_log.t%s', id)) IS NOT NULL LOOP
        EXECUTE format('GRANT SELECT (ctid, xid), DELETE ON %s TO stepwell_pruner', what);
    END LOOP;
END $$;
