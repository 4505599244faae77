-- The first snapshot of the runs of one schema but for some; what was over before it is pruned.
SELECT min(pg_snapshot_xmin(snapshot)) AS oldest FROM {runs}
WHERE snapshot IS NOT NULL{without}
  AND (system_identifier IS NULL OR system_identifier = (SELECT system_identifier FROM pg_control_system()))
