-- Of the shapes that every instant from %(before)s on has seen, the last one tells what was; the first of all tells since
-- when the table is watched, and the last one that was watched what its past looks like.
DELETE FROM stepwell_log.shapes s
WHERE s.relation = %(oid)s::oid::regclass AND s.xid < %(before)s::text::xid8
  AND s.id NOT IN (
      SELECT unnest(ARRAY[min(o.id), max(o.id) FILTER (WHERE o.xid < %(before)s::text::xid8),
                          max(o.id) FILTER (WHERE o.why = 'watched')])
      FROM stepwell_log.shapes o WHERE o.relation = s.relation)
