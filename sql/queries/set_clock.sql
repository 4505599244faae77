-- The time that defaults and checks of overlays are told, in microseconds since 1970; that of today if none is given. No
-- rollback sets a sequence back.
SELECT setval('pg_temp."stepwell!clock"'::regclass, (extract(epoch FROM coalesce(%(now)s::timestamptz, now())) * 1000000)::int8)
