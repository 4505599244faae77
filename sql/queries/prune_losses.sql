-- What was lost before %(before)s matters to no instant from then on.
DELETE FROM stepwell_log.losses
WHERE relation = %(oid)s::oid::regclass AND xid < %(before)s::text::xid8
