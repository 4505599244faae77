-- Whether the transaction that another session has open has had its first query, so that one more changes nothing for it:
-- it holds a snapshot, or it has written. A number it gets for LOCK TABLE … IN ACCESS EXCLUSIVE MODE alone, too, which is
-- no query yet: with such a lock it is not certain. Any role may ask.
SELECT EXISTS (
    SELECT FROM pg_stat_get_activity(%(pid)s)
    WHERE backend_xmin IS NOT NULL
       OR backend_xid IS NOT NULL
          AND NOT EXISTS (SELECT FROM pg_locks AS l WHERE l.pid = %(pid)s AND l.mode = 'AccessExclusiveLock')
)
