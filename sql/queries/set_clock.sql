-- The time that defaults and checks of overlays are told, in microseconds since 1970. No rollback sets a sequence back.
SELECT setval('pg_temp."stepwell!clock"'::regclass, (extract(epoch FROM %(now)s::timestamptz) * 1000000)::int8)
