-- What agent_steps is, as a text that changes with every ALTER TABLE; NULL where a transaction's number in a row does not
-- tell whether the row has changed, or where more than its rows decides what is read of it (views, partitions, parents,
-- policies), or where no index leads to a part of a run.
SELECT concat_ws(' ', c.oid, (
           SELECT string_agg(concat_ws(':', attnum, a.xmin), ',' ORDER BY attnum)
           FROM pg_attribute AS a
           WHERE attrelid = c.oid AND attnum > 0
       ))
FROM pg_class AS c
WHERE c.oid = to_regclass('agent_steps') AND relkind = 'r' AND NOT relrowsecurity AND NOT relhassubclass
  AND EXISTS (
      SELECT
      FROM pg_index AS i
      JOIN pg_attribute AS first ON first.attrelid = c.oid AND first.attnum = i.indkey[0] AND first.attname = 'run_id'
      JOIN pg_attribute AS second ON second.attrelid = c.oid AND second.attnum = i.indkey[1]
           AND second.attname = 'step_number'
      WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL
  )
