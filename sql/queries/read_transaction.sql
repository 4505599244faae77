-- Whether the transaction that another session has open has written, or holds a snapshot: then it has had its first query,
-- and one more changes nothing for it. Any role may ask.
SELECT EXISTS (
    SELECT FROM pg_stat_get_activity(%(pid)s) WHERE backend_xid IS NOT NULL OR backend_xmin IS NOT NULL
)
