-- One migration at a time in a database; released with the transaction. The number spells "stepwell" in ASCII.
SELECT pg_advisory_xact_lock(8319395793564494956)
