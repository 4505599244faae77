-- The rows as they were to the snapshot in stepwell.snapshot: the versions whose maker it saw and whose remover it did not.
-- The string keeps the owner's table free of dependencies, and is put into the query that reads it. The two arms have no
-- condition of their own, so that what a query asks for reaches the indexes of both; what needs no row is asked once.
-- A live row is taken to have been removed by nobody. Whether a version was there is told without the log where its xmin is
-- older than all that the snapshot did not see, and, where nothing has rewritten the table, younger than all that it saw.
CREATE OR REPLACE FUNCTION {past}() RETURNS TABLE ({result}) LANGUAGE sql STABLE AS $stepwell$
SELECT {names}
FROM (
    SELECT {live}, "!stepwell".xmin AS "!maker", 9223372036854775807::bigint AS "!position",
           '18446744073709551615'::xid8 AS "!remover", true AS "!there", false AS "!own"
    FROM {table} AS "!stepwell"
    UNION ALL
    SELECT {dead}, l.old_xid, l.position, l.xid,
           CASE WHEN l.dead IS NOT NULL THEN l.dead
                ELSE NOT EXISTS (SELECT FROM {log} AS made
                                 WHERE {made_key} AND (made.xid = l.xid) IS TRUE AND made.new_xid = l.old_xid
                                   AND made.new_place = l.old_place AND made.part IS NOT DISTINCT FROM l.part
                                   AND ((made.xid = {own}) IS NOT TRUE OR made.position > {until})) END,
           CASE WHEN l.dead IS NULL AND l.xid = {own}
                THEN EXISTS (SELECT FROM {log} AS made
                             WHERE {made_key} AND (made.xid = l.xid) IS TRUE AND made.new_xid = l.old_xid
                               AND made.new_place = l.old_place AND made.part IS NOT DISTINCT FROM l.part
                               AND made.position <= {until}) ELSE false END
    FROM {log_rows} AS l
) AS u
WHERE u."!there"
  AND u."!remover" >= {xmin}
  AND CASE WHEN u."!remover" = {own} THEN u."!position" > {until}
           ELSE u."!remover" >= {xmax} OR NOT pg_visible_in_snapshot(u."!remover", {snapshot}) END
  AND (age(u."!maker") > {oldest}
       OR (age(u."!maker") > {youngest}
           AND coalesce((SELECT CASE WHEN e.xid = {own} THEN e.position <= {until}
                                     ELSE pg_visible_in_snapshot(e.xid, {snapshot}) END
                         FROM {log} AS e
                         WHERE {entry_key} AND e.position < u."!position" AND e.xid <> u."!remover"
                         ORDER BY {entry_order}, e.position DESC LIMIT 1), true))
       OR u."!own")
$stepwell$
