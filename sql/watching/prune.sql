-- Delete some entries of transactions before {before}, the oldest first; how many there were, and how far that went.
WITH gone AS (
    DELETE FROM {log}
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM {log} WHERE xid >= {reached} AND xid < {before} ORDER BY xid LIMIT {most}))
    RETURNING xid
)
SELECT count(*), max(xid)::text FROM gone
