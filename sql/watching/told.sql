-- When the first of those runs of one schema began that ask for nothing which was pruned.
SELECT min(started_at) AS since FROM {runs} WHERE pg_snapshot_xmin(snapshot) >= {pruned_to}
