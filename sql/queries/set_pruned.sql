-- From now on what transactions before %(before)s removed from table %(id)s is not told.
UPDATE stepwell_log.tables SET pruned_to = %(before)s::text::xid8
WHERE id = %(id)s AND (pruned_to IS NULL OR pruned_to < %(before)s::text::xid8)
