-- Hold the locks of several runs again, after the connection that held them was lost.
SELECT pg_try_advisory_lock_shared(key) FROM unnest(%(keys)s::int8[]) AS key
