"""Statements that would get out of the replay, one a line, and what they are tried on."""


def lines(text: str) -> tuple[str, ...]:
    """The lines that hold something."""
    return tuple(line for line in text.splitlines() if line)


WRITES = """
COMMIT; UPDATE shop.orders SET note = 'gone'
SELECT 1; UPDATE shop.orders SET note = 'gone'
SELECT 1; COMMIT
COMMIT
ROLLBACK
END
ABORT
BEGIN
START TRANSACTION READ WRITE
COMMIT AND CHAIN
SAVEPOINT s
ROLLBACK TO s
RELEASE s
PREPARE TRANSACTION 'left behind'
COMMIT PREPARED 'left behind'
SET TRANSACTION READ WRITE
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
INSERT INTO shop.orders VALUES (7, 'x')
UPDATE shop.orders SET note = 'gone'
DELETE FROM shop.orders
TRUNCATE shop.orders
MERGE INTO shop.orders o USING (SELECT 1 AS id) s ON o.id = s.id WHEN MATCHED THEN DELETE
WITH gone AS (DELETE FROM shop.orders RETURNING *) SELECT * FROM gone
WITH new AS (INSERT INTO shop.orders VALUES (7, 'x') RETURNING *) TABLE new
WITH a AS (SELECT 1) UPDATE shop.orders SET note = 'gone'
WITH a AS (SELECT 1) DELETE FROM shop.orders
WITH a AS (SELECT 1) INSERT INTO shop.orders VALUES (7, 'x')
SELECT 1 INTO shop.made
SELECT 1 INTO TEMP made
TABLE shop.orders; DROP TABLE shop.orders
SELECT * FROM shop.orders FOR UPDATE
SELECT * FROM shop.orders FOR SHARE NOWAIT
SELECT * FROM shop.orders FOR NO KEY UPDATE SKIP LOCKED
SELECT * FROM shop.orders FOR KEY SHARE
SELECT * FROM (SELECT * FROM shop.orders FOR UPDATE) AS held
CREATE TABLE made AS SELECT 1
CREATE TEMP TABLE made (n int)
CREATE VIEW made AS SELECT 1
DROP TABLE shop.orders
ALTER TABLE shop.orders ADD n int
CREATE INDEX ON shop.orders (note)
COMMENT ON TABLE shop.orders IS 'x'
GRANT ALL ON shop.orders TO PUBLIC
CREATE ROLE made
SECURITY LABEL ON TABLE shop.orders IS 'x'
REASSIGN OWNED BY CURRENT_USER TO CURRENT_USER
REFRESH MATERIALIZED VIEW shop.summary
ALTER SYSTEM SET work_mem = '1MB'
ALTER DATABASE postgres SET work_mem = 1
IMPORT FOREIGN SCHEMA x FROM SERVER y INTO z
ALTER SEQUENCE shop.numbers RESTART
"""
MAINTENANCE = """
LOCK TABLE shop.orders IN ACCESS EXCLUSIVE MODE
CLUSTER shop.orders
REINDEX TABLE shop.orders
REINDEX TABLE CONCURRENTLY shop.orders
ANALYZE shop.orders
VACUUM shop.orders
VACUUM FULL shop.orders
CHECKPOINT
LOAD 'plpgsql'
DO $$ BEGIN PERFORM 1; END $$
CALL shop.work()
EXECUTE kept
DEALLOCATE ALL
PREPARE kept AS SELECT 1
LISTEN gossip
UNLISTEN *
NOTIFY gossip
DISCARD ALL
DISCARD PLANS
SET statement_timeout = 0
SET LOCAL statement_timeout = 0
SET ROLE postgres
SET SESSION AUTHORIZATION DEFAULT
RESET ALL
SET search_path = public
SET CONSTRAINTS ALL DEFERRED
COPY shop.orders TO STDOUT
COPY shop.orders FROM STDIN
COPY (SELECT 1) TO PROGRAM 'touch /tmp/made'
COPY shop.orders TO '/tmp/made'
DECLARE c CURSOR WITH HOLD FOR SELECT 1
FETCH ALL FROM stepwell
CLOSE stepwell
MOVE 1 FROM stepwell
"""
EXPLAINED = """
EXPLAIN ANALYZE UPDATE shop.orders SET note = 'gone'
EXPLAIN ANALYZE DELETE FROM shop.orders
EXPLAIN (ANALYZE) INSERT INTO shop.orders VALUES (7, 'x')
EXPLAIN ANALYZE CREATE TABLE made AS SELECT 1
EXPLAIN ANALYZE EXECUTE kept
EXPLAIN ANALYZE DECLARE c CURSOR WITH HOLD FOR SELECT 1
EXPLAIN ANALYZE REFRESH MATERIALIZED VIEW shop.summary
EXPLAIN EXPLAIN SELECT 1
EXPLAIN ANALYZE WITH gone AS (DELETE FROM shop.orders RETURNING *) SELECT * FROM gone
EXPLAIN ANALYZE SELECT 1 INTO shop.made
EXPLAIN ANALYZE SELECT * FROM shop.orders FOR UPDATE
EXPLAIN ANALYZE SELECT pg_advisory_lock(7)
EXPLAIN (ANALYZE, COSTS off) (SELECT pg_advisory_lock(7))
EXPLAIN ANALYZE (DELETE FROM shop.orders)
EXPLAIN SELECT 1; COMMIT
SHOW work_mem; COMMIT
"""
CALLS = """
pg_advisory_lock(7)
pg_try_advisory_lock(7)
pg_advisory_xact_lock_shared(7)
pg_advisory_unlock_all()
set_config('statement_timeout', '0', false)
set_config('x.y', '1', true)
pg_catalog.set_config('x.y', '1', false)
setseed(0.5)
pg_notify('gossip', 'x')
pg_logical_emit_message(false, 'x', 'y')
pg_logical_emit_message(true, 'x', 'y')
lo_create(7)
lo_creat(-1)
lo_from_bytea(7, 'x')
lo_unlink(7)
lo_import('/etc/passwd')
lo_export(7, '/tmp/made')
lo_put(7, 0, 'x')
lo_open(7, 131072)
nextval('shop.numbers')
setval('shop.numbers', 1000)
pg_current_xact_id()
txid_current()
pg_export_snapshot()
pg_terminate_backend(pg_backend_pid())
pg_cancel_backend(pg_backend_pid())
pg_create_physical_replication_slot('made', true)
pg_create_logical_replication_slot('made', 'test_decoding')
pg_drop_replication_slot('made')
pg_copy_physical_replication_slot('a', 'b')
pg_replication_slot_advance('a', '0/1')
pg_logical_slot_get_changes('a', NULL, NULL)
pg_logical_slot_peek_changes('a', NULL, NULL)
pg_replication_origin_create('made')
pg_replication_origin_advance('made', '0/1')
pg_switch_wal()
pg_create_restore_point('made')
pg_backup_start('made')
pg_backup_stop()
pg_promote()
pg_reload_conf()
pg_rotate_logfile()
pg_log_backend_memory_contexts(pg_backend_pid())
pg_wal_replay_pause()
pg_stat_reset()
pg_stat_reset_shared('bgwriter')
pg_stat_reset_slru(NULL)
pg_stat_statements_reset()
query_to_xml('SELECT pg_advisory_lock(7)', true, false, '')
cursor_to_xml('stepwell', 1, true, false, '')
table_to_xml('shop.orders', true, false, '')
schema_to_xml('shop', true, false, '')
database_to_xml(true, false, '')
ts_stat('SELECT to_tsvector(note) FROM shop.orders')
ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')
dblink('dbname=postgres', 'DROP TABLE shop.orders')
dblink_exec('COMMIT')
brin_summarize_new_values('shop.orders')
gin_clean_pending_list('shop.orders')
pg_import_system_collations('shop')
pg_stop_making_pinned_objects()
pg_nextoid('pg_class', 'oid', 'pg_class_oid_index')
binary_upgrade_set_next_pg_type_oid(77777)
pg_file_write('a', 'b', true)
"pg_advisory_lock"(7)
U&"pg!005fadvisory_lock" UESCAPE '!' (7)
(7).pg_advisory_lock
E'\\'', pg_advisory_lock(7)
(SELECT pg_advisory_lock(7))
('x', pg_advisory_lock(7))::text
coalesce(NULL, pg_advisory_lock(7)::text)
set_config(E'x\\.y'::text, '1', false)
CAST(set_config('x.y', '1', false) AS text)
ARRAY[set_config('x.y', '1', false)]
set_config(VARIADIC ARRAY['a','b','c'])
"""
SPREAD = ("PG_ADVISORY_LOCK\n(7)", 'pg_catalog . /* x */ "pg_advisory_lock" -- y\n (7)')
INDIRECT = """
SELECT * FROM shop.sly
SELECT count(*) FROM shop.sly
SELECT shop.sly_call()
SELECT * FROM shop.sly_rows()
SELECT * FROM shop.sly_list
SELECT * FROM shop.sly_limit
"""
"""Through a view, and functions that are put into the query."""
REFUSED = (
    *lines(WRITES + MAINTENANCE + EXPLAINED + INDIRECT),
    *(f"SELECT {call}" for call in (*lines(CALLS), *SPREAD)),
)
CAUGHT_BY_SERVER = """
SELECT shop.scribble()
SELECT shop.count_up()
SELECT shop.end_it()
SELECT shop.loosen()
SELECT * FROM shop.scribbling
SELECT shop.make_table()
SELECT shop.lock_table()
"""
"""Functions that write, which only READ ONLY stops."""
LEFT_TO_ROLE = """
SELECT shop.hold()
SELECT shop.forget()
SELECT shop.keep()
SELECT shop.seed()
SELECT shop.quit()
"""
"""Functions that change the session, which is closed after the statement."""
SCHEMA = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id int PRIMARY KEY, note text);
INSERT INTO shop.orders SELECT n, 'note ' || n FROM generate_series(1, 100) AS n;
CREATE SEQUENCE shop.numbers;
CREATE MATERIALIZED VIEW shop.summary AS SELECT count(*) FROM shop.orders;
CREATE PROCEDURE shop.work() LANGUAGE sql AS 'UPDATE shop.orders SET note = NULL';
CREATE VIEW shop.sly AS SELECT set_config('x.y', '1', false) AS set FROM shop.orders;
CREATE VIEW shop.sly_list AS VALUES (set_config('x.y', '1', false)), ('2');
CREATE VIEW shop.sly_inner AS SELECT 1 LIMIT length(set_config('x.y', '1', false));
CREATE VIEW shop.sly_limit AS SELECT * FROM shop.sly_inner;
CREATE FUNCTION shop.sly_call() RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT set_config('x.y', '1', false) $$;
CREATE FUNCTION shop.sly_rows() RETURNS SETOF text LANGUAGE sql STABLE AS $$ SELECT set_config('x.y', '1', false) $$;
CREATE FUNCTION shop.scribble() RETURNS int LANGUAGE plpgsql AS $$
BEGIN UPDATE shop.orders SET note = 'gone'; RETURN 1; END $$;
CREATE VIEW shop.scribbling AS SELECT shop.scribble();
CREATE FUNCTION shop.count_up() RETURNS int LANGUAGE plpgsql AS $$
BEGIN RETURN nextval('shop.numbers'); END $$;
CREATE FUNCTION shop.end_it() RETURNS int LANGUAGE plpgsql AS $$
BEGIN COMMIT; RETURN 1; END $$;
CREATE FUNCTION shop.loosen() RETURNS int LANGUAGE plpgsql AS $$
BEGIN SET transaction_read_only = off; UPDATE shop.orders SET note = 'gone'; RETURN 1; END $$;
CREATE FUNCTION shop.make_table() RETURNS int LANGUAGE plpgsql AS $$
BEGIN CREATE TABLE shop.made (n int); RETURN 1; END $$;
CREATE FUNCTION shop.lock_table() RETURNS int LANGUAGE plpgsql AS $$
BEGIN LOCK TABLE shop.orders IN SHARE ROW EXCLUSIVE MODE; CREATE INDEX ON shop.orders (note); RETURN 1; END $$;
CREATE FUNCTION shop.hold() RETURNS int LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_lock(7); RETURN 1; END $$;
CREATE FUNCTION shop.forget() RETURNS int LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'DISCARD PLANS'; EXECUTE 'SET work_mem = ''2MB'''; RETURN 1; END $$;
CREATE FUNCTION shop.keep() RETURNS int LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'PREPARE kept AS SELECT 1'; RETURN 1; END $$;
CREATE FUNCTION shop.seed() RETURNS int LANGUAGE plpgsql AS $$
BEGIN PERFORM setseed(0.5); RETURN 1; END $$;
CREATE FUNCTION shop.quit() RETURNS int LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('gossip', 'x'); RETURN 1; END $$;
"""
