-- Let go of one lock of a run that this session holds.
SELECT pg_advisory_unlock_shared(%(key)s)
