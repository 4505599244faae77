-- What watched tables are kept with: `stepwell watch` runs this in the database of the tables; again, it changes nothing.
-- All of it is in the schema stepwell_log; the past of table number N is read through a view in schema stepwell_asof_tN.

DO $$ -- IF NOT EXISTS would ask for the right to make it also where it is there
BEGIN
    IF to_regnamespace('stepwell_log') IS NULL THEN
        CREATE SCHEMA stepwell_log;
    END IF;
END $$;

-- One order over all logs: what a transaction had written by some moment is what it has up to a position.
CREATE SEQUENCE IF NOT EXISTS stepwell_log.position;

CREATE TABLE IF NOT EXISTS stepwell_log.tables (
    relation          REGCLASS PRIMARY KEY, -- dumped by its name, so that a restored database still means its own table
    id                BIGINT NOT NULL UNIQUE GENERATED ALWAYS AS IDENTITY, -- of its log t<id> and its functions
    schema_name       TEXT NOT NULL,        -- as it was called when it was watched
    table_name        TEXT NOT NULL,
    shadow            TEXT NOT NULL,        -- the schema that its view is in
    system_identifier BIGINT,               -- of the server that numbered the transactions of the log
    pruned_to         XID8                  -- what transactions before this one removed is no longer told
);

-- How a table looked to who watched it: what changes it unlogged shows here as a difference.
CREATE TABLE IF NOT EXISTS stepwell_log.shapes (
    id       BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    relation REGCLASS NOT NULL,
    xid      XID8 NOT NULL,                 -- the transaction that looked
    why      TEXT NOT NULL CHECK (why IN ('before watch', 'watched', 'before truncate', 'after truncate')),
    shape    JSONB NOT NULL,
    at       TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS shapes_relation ON stepwell_log.shapes (relation, id);

-- What could not be logged: steps that do not see this transaction cannot be shown. Everybody may read it, so `why` holds no
-- value of a row, nor what an error says of one.
CREATE TABLE IF NOT EXISTS stepwell_log.losses (
    relation REGCLASS NOT NULL,
    xid      XID8 NOT NULL,
    why      TEXT NOT NULL,
    PRIMARY KEY (relation, xid, why)
);

-- The shape of a table: storage, columns, partitions, and whether its triggers fire. `born` is told of a partition that was
-- made as one, so that it has had no rows that nobody logged. Who has changed a column last tells an ALTER TABLE that
-- rewrites the rows from a VACUUM FULL that moves them. `current`: the transaction's snapshot sees the table under the name
-- and in the storage that it has by now. All of it is found by indexes, however many other tables there are.
CREATE OR REPLACE FUNCTION stepwell_log.shape(watched OID) RETURNS JSONB LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT jsonb_build_object(
        'schema', n.nspname,
        'name', c.relname,
        'columns', (SELECT jsonb_agg(jsonb_build_array(a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
                                                       a.xmin::text) ORDER BY a.attnum)
                    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
        'types', (SELECT jsonb_object_agg(t.oid, CASE t.typtype
                      WHEN 'e' THEN (SELECT jsonb_object_agg(e.oid, e.enumlabel) FROM pg_enum e WHERE e.enumtypid = t.oid)
                      ELSE (SELECT jsonb_build_object('', string_agg(concat_ws(' ', a.attname, a.atttypid::regtype), ', '
                                                                     ORDER BY a.attnum))
                            FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) END)
                  FROM (WITH RECURSIVE used AS ( -- what values are made of, through arrays, domains, ranges and composites
                            SELECT a.atttypid AS oid FROM pg_attribute a
                            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                            UNION
                            SELECT below.oid
                            FROM used
                            JOIN pg_type u ON u.oid = used.oid AND u.typnamespace <> 'pg_catalog'::regnamespace
                            CROSS JOIN LATERAL (
                                SELECT u.typelem AS oid UNION ALL SELECT u.typbasetype
                                UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE u.oid IN (r.rngtypid, r.rngmultitypid)
                                UNION ALL SELECT a.atttypid FROM pg_attribute a
                                WHERE a.attrelid = u.typrelid AND a.attnum > 0 AND NOT a.attisdropped) AS below
                            WHERE below.oid <> 0)
                        SELECT t.* FROM used JOIN pg_type t ON t.oid = used.oid
                        WHERE t.typtype IN ('e', 'c') AND t.typnamespace <> 'pg_catalog'::regnamespace) AS t),
        'expressions', (SELECT jsonb_object_agg(d.adnum, d.xmin::text) FROM pg_attrdef d WHERE d.adrelid = c.oid),
        'computed', (SELECT jsonb_object_agg(a.attnum, d.xmin::text)
                     FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                     WHERE a.attrelid = c.oid AND a.attgenerated = 'v'),
        'key', (SELECT jsonb_agg(k.attnum ORDER BY k.place)
                FROM pg_index i CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
                WHERE i.indrelid = c.oid AND i.indisprimary AND i.indimmediate),
        'current', CASE WHEN has_schema_privilege(n.oid, 'USAGE')
                        THEN to_regclass(format('%I.%I', n.nspname, c.relname)) IS NOT DISTINCT FROM c.oid ELSE true END,
        'persistence', c.relpersistence,
        'secured', c.relrowsecurity,
        'parts', (SELECT jsonb_object_agg(p.oid, jsonb_build_object(
                      'name', p.oid::regclass::text,
                      'storage', pg_relation_filenode(p.oid),
                      'current', (p.relkind = 'p' OR p.relfilenode IS NOT DISTINCT FROM pg_relation_filenode(p.oid))
                                 AND (c.relkind <> 'p' OR p.oid = c.oid
                                      OR c.oid IN (SELECT relid FROM pg_partition_ancestors(p.oid))),
                      'born', i.xmin = y.xmin AND i.cmin::text::int8 - y.cmin::text::int8 < 3,
                      'joined', i.xmin::text,
                      'triggers', (SELECT jsonb_object_agg(t.tgname, t.tgenabled::text || t.xmin::text)
                                   FROM pg_trigger t
                                   JOIN pg_proc f ON f.oid = t.tgfoid
                                   JOIN pg_namespace s ON s.oid = f.pronamespace
                                   WHERE t.tgrelid = p.oid AND s.nspname = 'stepwell_log'),
                      'kind', p.relkind,
                      'method', p.relam))
                  FROM (WITH RECURSIVE tree AS ( -- pg_partition_tree() would lock the partitions, and before the whole
                            SELECT c.oid AS relid
                            UNION ALL
                            SELECT i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.relid AND NOT i.inhdetachpending)
                        SELECT relid FROM tree) AS tree
                  JOIN pg_class p ON p.oid = tree.relid
                  JOIN pg_type y ON y.oid = p.reltype
                  LEFT JOIN pg_inherits i ON i.inhrelid = p.oid AND p.oid <> c.oid))
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = watched
$$;

-- A row as the texts of its columns, in the places that they have in the watched table; for rows of a shape that its
-- trigger does not know. Output functions alone are called, under settings that keep every digit.
CREATE OR REPLACE FUNCTION stepwell_log.image(watched OID, part OID, old ANYELEMENT) RETURNS TEXT[] LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 3 SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET bytea_output = 'hex'
SET timezone = 'UTC' AS $$
DECLARE
    list TEXT;
    found TEXT[];
BEGIN
    SELECT string_agg(CASE WHEN mine.attname IS NULL THEN 'NULL'
                           ELSE format('CASE WHEN num_nonnulls(($1).%1$I) = 1 THEN format(''%%s'', ($1).%1$I) END', mine.attname)
                      END, ', ' ORDER BY place)
    INTO list
    FROM generate_series(1, (SELECT relnatts FROM pg_class WHERE oid = watched)) AS place
    LEFT JOIN pg_attribute whole ON whole.attrelid = watched AND whole.attnum = place AND NOT whole.attisdropped
    LEFT JOIN pg_attribute mine ON mine.attrelid = part AND mine.attname = whole.attname AND NOT mine.attisdropped;
    EXECUTE 'SELECT ARRAY[' || list || ']::text[]' INTO found USING old;
    RETURN found;
END $$;

-- To say that rows of some transaction are not in the log.
CREATE OR REPLACE FUNCTION stepwell_log.lose(watched OID, reason TEXT) RETURNS VOID LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF has_table_privilege('stepwell_log.losses', 'INSERT') THEN
        INSERT INTO stepwell_log.losses (relation, xid, why) VALUES (watched, pg_current_xact_id(), reason) ON CONFLICT DO NOTHING;
    END IF;
END $$;

REVOKE EXECUTE ON FUNCTION stepwell_log.image(OID, OID, ANYELEMENT), stepwell_log.lose(OID, TEXT) FROM PUBLIC;
GRANT USAGE ON SCHEMA stepwell_log TO PUBLIC; -- what is in it has rights of its own
GRANT SELECT ON SEQUENCE stepwell_log.position TO PUBLIC;
GRANT SELECT ON stepwell_log.tables, stepwell_log.shapes, stepwell_log.losses TO PUBLIC;

-- What they share belongs to who was the first, who is trusted by all whose tables are watched: its functions run in their
-- name. Other owners, as members of the role that sql/roles.sql makes, add to it. roles.sql has the same where it is later.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'stepwell_watcher') THEN
        GRANT USAGE, CREATE ON SCHEMA stepwell_log TO stepwell_watcher WITH GRANT OPTION;
        GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell_log.tables, stepwell_log.shapes, stepwell_log.losses
            TO stepwell_watcher WITH GRANT OPTION;
        GRANT USAGE, SELECT ON SEQUENCE stepwell_log.position, stepwell_log.tables_id_seq TO stepwell_watcher WITH GRANT OPTION;
        GRANT EXECUTE ON FUNCTION stepwell_log.image(OID, OID, ANYELEMENT), stepwell_log.lose(OID, TEXT)
            TO stepwell_watcher WITH GRANT OPTION;
    END IF;
END $$;
