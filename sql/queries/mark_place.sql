-- A mark that goes with a savepoint, and the path that names are looked up by from now on.
SELECT current_setting('search_path') FROM set_config('stepwell.place', %(mark)s, true)
