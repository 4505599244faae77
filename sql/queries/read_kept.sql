-- Whether there is all that tells of watched tables, and whether this role may ask which server this is.
SELECT to_regclass('stepwell_log.tables') IS NOT NULL AND to_regclass('stepwell_log.shapes') IS NOT NULL
           AND to_regclass('stepwell_log.losses') IS NOT NULL AS kept,
       has_function_privilege('pg_control_system()', 'EXECUTE')
           AND has_function_privilege('pg_control_checkpoint()', 'EXECUTE')
           AND has_function_privilege('pg_current_wal_insert_lsn()', 'EXECUTE')
           AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE') AS may_ask
