-- Whether the schema %(shadow)s of views holds nothing any more, and whether no table is watched any more; false where this
-- role may not drop what is left then.
SELECT coalesce((SELECT pg_has_role(n.nspowner, 'USAGE')
                        AND NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid)
                        AND NOT EXISTS (SELECT FROM pg_proc WHERE pronamespace = n.oid)
                 FROM pg_namespace n WHERE n.nspname = %(shadow)s), false),
       (SELECT pg_has_role(n.nspowner, 'USAGE') AND NOT EXISTS (SELECT FROM stepwell_log.tables)
        FROM pg_namespace n WHERE n.nspname = 'stepwell_log')
