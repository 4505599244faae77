-- Whether names mean what they were last set to mean in this transaction: the agent may have set a path, or rolled back.
SELECT current_setting('search_path'), current_setting('stepwell.place', true), current_schemas(false)::text[]
