-- Roles, each just enough for its job. Run once as the owner of the tables, after the schema:
--     psql -f sql/roles.sql
-- then:  GRANT stepwell_recorder TO my_agent;  GRANT stepwell_debugger TO alice;  GRANT stepwell_pruner TO a_timer;
-- Grants hold for the schema that comes first in the search_path.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'stepwell_recorder') THEN
        CREATE ROLE stepwell_recorder NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'stepwell_debugger') THEN
        CREATE ROLE stepwell_debugger NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'stepwell_pruner') THEN
        CREATE ROLE stepwell_pruner NOLOGIN;
    END IF;
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
