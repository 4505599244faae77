-- The table as an agent sees it that writes: its past, but for the keys that were written since, and what was written.
CREATE TEMPORARY VIEW {view} AS
SELECT {columns} FROM {past} AS past WHERE NOT EXISTS (SELECT FROM {overlay} AS o WHERE {same})
UNION ALL
SELECT {columns} FROM {overlay} WHERE NOT "!gone"
