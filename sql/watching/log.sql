-- The log of one watched table: a row for each version of a row that was removed, with its values, or made.
CREATE TABLE IF NOT EXISTS {log} (
    position  BIGINT NOT NULL DEFAULT nextval('stepwell_log.position'),
    xid       XID8 NOT NULL, -- the transaction, not the subtransaction, that removed the version or made one
    dead      BOOLEAN,       -- false: made, none was removed; true: removed, and made by another transaction; NULL: perhaps by this one
    old_xid   XID,           -- who made the removed version, as its xmin says
    new_xid   XID,
    old_place TID,           -- where it was
    new_place TID,
    part      OID,           -- of a partitioned table: in which partition
    backend   INT NOT NULL,
    who       TEXT NOT NULL,
    image     TEXT[]         -- instead of the columns, where the table had got a shape that its trigger did not know
)
