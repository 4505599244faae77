-- The columns of agent_steps that every reader needs, where they are not as it needs them: those that are missing, and
-- those of another type than it can take, if not any will do. Of a domain it is the type below that counts. `plain`:
-- whether it is a table, not a view.
SELECT needed.name, needed.type, format_type(there.atttypid, there.atttypmod) AS found,
       steps.relkind IN ('r', 'p') AS plain
FROM pg_class AS steps
CROSS JOIN (VALUES (1, 'id', 'bigint', '{}'::regtype[]),
                   (2, 'run_id', 'uuid', '{uuid}'),
                   (3, 'step_number', 'int', '{int2,int4,int8,numeric}'),
                   (4, 'step_type', 'text', '{text,varchar,bpchar}'),
                   (5, 'input', 'jsonb', '{jsonb}'),
                   (6, 'output', 'jsonb', '{jsonb}'),
                   (7, 'created_at', 'timestamptz', '{timestamptz,timestamp,date}'),
                   (8, 'seed', 'bigint', '{}')) AS needed (place, name, type, accepted)
LEFT JOIN pg_attribute AS there
       ON there.attrelid = steps.oid AND there.attname = needed.name AND there.attnum > 0 AND NOT there.attisdropped
LEFT JOIN pg_type AS kind ON kind.oid = there.atttypid
WHERE steps.oid = to_regclass('agent_steps')
  AND (there.attname IS NULL
       OR (needed.accepted <> '{}' AND coalesce(nullif(kind.typbasetype, 0), kind.oid) <> ALL (needed.accepted)))
ORDER BY needed.place
