-- Which of the two tables this role sees here.
SELECT to_regclass('agent_steps') IS NOT NULL, to_regclass('agent_runs') IS NOT NULL, current_user, current_database(),
       current_setting('search_path')
