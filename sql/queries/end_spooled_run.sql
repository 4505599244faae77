-- End a run as its file says, unless somebody else has taken it up again since, who has recorded steps of a later time
-- then: beyond those that the file goes on from, and not in it. No row if so, or if it has ended like this already.
UPDATE agent_runs AS r
SET status = %(status)s, finished_at = %(finished_at)s, error = %(error)s::jsonb,
    drawn = coalesce(%(drawn)s::jsonb, drawn), result = coalesce(%(result)s::jsonb, result),
    result_exact = CASE WHEN %(result)s::jsonb IS NULL THEN r.result_exact ELSE %(result_exact)s::jsonb END,
    keep = coalesce(nullif(keep, ''), %(keep)s)
WHERE run_id = %(run_id)s
  AND (status, finished_at, error) IS DISTINCT FROM (%(status)s::text, %(finished_at)s::timestamptz, %(error)s::jsonb)
  AND NOT EXISTS (SELECT FROM agent_steps s WHERE s.run_id = r.run_id AND s.started_at > %(finished_at)s
                    AND s.step_number > %(last)s AND s.step_number NOT IN (SELECT unnest(%(own)s::int8[])))
RETURNING run_id
