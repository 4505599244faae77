-- How many rows each stretch holds now, and the last transaction that wrote one of them, NULL where there is none: what
-- tells whether they are still those that were folded. No value of theirs is read.
SELECT held.rows,
       pg_snapshot_xmax(pg_current_snapshot())::text::int8 + age(pg_snapshot_xmax(pg_current_snapshot())::xid)
           - held.youngest AS newest
FROM unnest(%(afters)s::int8[], %(lasts)s::int8[]) WITH ORDINALITY AS stretch (after, last, place)
CROSS JOIN LATERAL (
    SELECT count(*) AS rows, min(age(xmin))::int8 AS youngest
    FROM agent_steps
    WHERE run_id = %(run_id)s AND step_number > after AND step_number <= last
) AS held
ORDER BY place
