"""What an owner does to a table: statements for a table `t`, its twin elsewhere, and what is written afterwards."""

from dataclasses import dataclass

import pytest

SETUP = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN few AS int CHECK (VALUE < 100);
CREATE TABLE t (
  id int PRIMARY KEY, name text DEFAULT 'n', qty int DEFAULT 1, feel mood, couple pair, limited few, note text);
INSERT INTO t SELECT n, 'name ' || n, n, 'ok', ROW(n::int, 'b')::pair, n, NULL FROM generate_series(1, 5) AS n;
CREATE TABLE t2 (id int PRIMARY KEY, name text, qty int, note text);
INSERT INTO t2 VALUES (1, 'other', 7, 'of t2'), (2, NULL, 8, '');
CREATE TABLE p (id int PRIMARY KEY, note text) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (200);
INSERT INTO p SELECT n, 'note ' || n FROM generate_series(98, 103) AS n;
CREATE TABLE loose (note text, id int NOT NULL PRIMARY KEY);
INSERT INTO loose VALUES ('loose', 250);
CREATE FUNCTION touch(number int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE t SET note = 'touched ' || number WHERE id = 2;
  INSERT INTO t (id) VALUES (number);
  DELETE FROM t WHERE id = number - 1;
END $$;
"""
WATCHED = ("t", "t2", "p")
WRITES = (
    "INSERT INTO t (id) VALUES ({n})",
    "UPDATE t SET note = concat('w', {n}) WHERE id IN (1, {n})",
    "UPDATE t SET id = id + 1 WHERE id = {n}",
    "INSERT INTO t (id) VALUES (3) ON CONFLICT (id) DO UPDATE SET id = {n}",
    "INSERT INTO t (id, note) VALUES (3, 'again')",
    "SELECT touch({n} + 2)",
    "DELETE FROM t WHERE id = {n} + 2",
    "INSERT INTO t2 (id, note) VALUES ({n}, 'x')",
    "UPDATE t2 SET qty = qty + 1",
    "UPDATE p SET id = id + 3, note = concat(note, {n}) WHERE id IN (97, 99)",
    "DELETE FROM p WHERE id = 101",
    "INSERT INTO p VALUES (101, concat('w', {n}))",
)
"""What goes on before and after, `n` a number that is new each time."""


@dataclass(frozen=True)
class Act:
    """Something that an owner does."""

    name: str
    ddl: str
    writes: tuple[str, ...] = ()
    """What is possible only since."""
    watched_only: bool = False
    """It concerns what watching has put there, so not the twin."""

    @property
    def marks(self) -> tuple[pytest.MarkDecorator, ...]:
        """Of those that differ little some are enough for every day."""
        return () if self.name in OFTEN else (pytest.mark.long,)


REVOKE = """DO $$ DECLARE log record; BEGIN
  FOR log IN SELECT oid::regclass AS name FROM pg_class
    WHERE relnamespace = 'stepwell_log'::regnamespace AND relkind = 'r' LOOP
    EXECUTE format('REVOKE ALL ON %s FROM stepwell_log_writer, public', log.name);
  END LOOP;
END $$"""
DROP_LOGS = """DO $$ DECLARE log record; BEGIN
  FOR log IN SELECT oid::regclass AS name FROM pg_class
    WHERE relnamespace = 'stepwell_log'::regnamespace AND relkind = 'r' AND relname ~ '^t[0-9]' LOOP
    EXECUTE format('DROP TABLE %s', log.name);
  END LOOP;
END $$"""

ACTS = (
    Act(
        "rename a column",
        "ALTER TABLE t RENAME COLUMN note TO remark",
        ("UPDATE t SET remark = concat('r', {n})",),
    ),
    Act(
        "rename a key",
        "ALTER TABLE t RENAME COLUMN id TO number",
        ("UPDATE t SET number = number + 1000 WHERE number = 1",),
    ),
    Act("drop a column", "ALTER TABLE t DROP COLUMN qty"),
    Act("drop the first columns", "ALTER TABLE t DROP COLUMN name, DROP COLUMN feel, DROP COLUMN couple"),
    Act(
        "int to bigint",
        "ALTER TABLE t ALTER qty TYPE bigint",
        ("UPDATE t SET qty = 5000000000 WHERE id < 3",),
    ),
    Act(
        "a key to bigint",
        "ALTER TABLE t ALTER id TYPE bigint",
        ("INSERT INTO t (id) VALUES (5000000000 + {n})",),
    ),
    Act(
        "a key to text",
        "ALTER TABLE t ALTER id TYPE text",
        ("INSERT INTO t (id) VALUES (concat('k', {n}))", "DELETE FROM t WHERE id = '1'"),
    ),
    Act("text to varchar", "ALTER TABLE t ALTER note TYPE varchar(40)"),
    Act("convert with an expression", "ALTER TABLE t ALTER qty TYPE text USING 'q' || qty"),
    Act("add a column", "ALTER TABLE t ADD extra int", ("UPDATE t SET extra = {n}",)),
    Act(
        "add a column with a default",
        "ALTER TABLE t ADD extra int NOT NULL DEFAULT 3",
        ("UPDATE t SET extra = {n} WHERE id < 3",),
    ),
    Act("add a column with a volatile default", "ALTER TABLE t ADD extra float DEFAULT random() * 0"),
    Act(
        "add one and drop one",
        "ALTER TABLE t DROP COLUMN note; ALTER TABLE t ADD note int DEFAULT 4",
        ("UPDATE t SET note = {n}",),
    ),
    Act(
        "swap two columns",
        "ALTER TABLE t RENAME name TO x; ALTER TABLE t RENAME note TO name; ALTER TABLE t RENAME x TO note",
    ),
    Act(
        "swap a key with a column",
        "ALTER TABLE t RENAME id TO x; ALTER TABLE t RENAME qty TO id; ALTER TABLE t RENAME x TO qty",
        ("INSERT INTO t (qty, id) VALUES ({n} + 500, 1)",),
    ),
    Act(
        "rename the table",
        "ALTER TABLE t RENAME TO renamed",
        ("UPDATE renamed SET note = concat('r', {n})", "DELETE FROM renamed WHERE id = 4"),
    ),
    Act(
        "swap two tables",
        "ALTER TABLE t RENAME TO x; ALTER TABLE t2 RENAME TO t; ALTER TABLE x RENAME TO t2",
        ("UPDATE t SET note = concat('r', {n})", "UPDATE t2 SET note = concat('r', {n})"),
    ),
    Act(
        "replace the table",
        "ALTER TABLE t RENAME TO old; CREATE TABLE t (LIKE old INCLUDING ALL); INSERT INTO t SELECT * FROM old",
        ("UPDATE t SET note = concat('r', {n})", "UPDATE old SET note = concat('r', {n})"),
    ),
    Act(
        "another schema",
        "ALTER TABLE t SET SCHEMA elsewhere",
        ("UPDATE t SET note = concat('r', {n})", "DELETE FROM t WHERE id = 4"),
    ),
    Act("drop the table", "DROP TABLE t"),
    Act(
        "drop and make it again",
        "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, note text)",
        ("INSERT INTO t VALUES (4, 'new')",),
    ),
    Act("drop the table, then its types", "DROP TABLE t; DROP TYPE mood, pair; DROP DOMAIN few"),
    Act(
        "a constraint for a domain",
        "ALTER DOMAIN few ADD CONSTRAINT small CHECK (VALUE <> 50)",
        ("UPDATE t SET limited = 49",),
    ),
    Act(
        "no constraint for a domain",
        "ALTER DOMAIN few DROP CONSTRAINT few_check",
        ("UPDATE t SET limited = 490", "UPDATE t SET limited = 1"),
    ),
    Act(
        "a value for an enum",
        "ALTER TYPE mood ADD VALUE 'new' BEFORE 'ok'",
        ("UPDATE t SET feel = 'new' WHERE id < 3", "DELETE FROM t WHERE feel = 'new'"),
    ),
    Act(
        "another name for a value of an enum",
        "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'",
        ("UPDATE t SET feel = 'fine'", "UPDATE t SET feel = 'sad'"),
    ),
    Act("another name for an enum", "ALTER TYPE mood RENAME TO spirits", ("UPDATE t SET feel = 'sad'",)),
    Act(
        "an attribute for a composite type",
        "ALTER TYPE pair ADD ATTRIBUTE c int",
        ("UPDATE t SET couple = ROW(1, 'x', {n})", "UPDATE t SET qty = 3"),
    ),
    Act(
        "an attribute less",
        "ALTER TYPE pair DROP ATTRIBUTE a",
        ("UPDATE t SET couple = ROW('x')", "UPDATE t SET qty = 3"),
    ),
    Act(
        "another name for an attribute",
        "ALTER TYPE pair RENAME ATTRIBUTE a TO z",
        ("UPDATE t SET couple.z = {n}",),
    ),
    Act(
        "make a partition",
        "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (200) TO (300)",
        (
            "INSERT INTO p VALUES (mod({n}, 100) + 200, 'in 3')",
            "UPDATE p3 SET note = concat('direct ', {n})",
            "UPDATE p SET id = id - 100 WHERE id > 200",
        ),
    ),
    Act(
        "attach a partition",
        "ALTER TABLE p ATTACH PARTITION loose FOR VALUES FROM (200) TO (300)",
        (
            "UPDATE p SET note = concat('all ', {n})",
            "UPDATE loose SET note = concat('direct ', {n})",
            "DELETE FROM p WHERE id = 250",
        ),
    ),
    Act(
        "detach a partition",
        "ALTER TABLE p DETACH PARTITION p2",
        ("UPDATE p2 SET note = concat('direct ', {n})", "INSERT INTO p2 VALUES ({n} + 7000, '')"),
    ),
    Act(
        "detach and attach again",
        "ALTER TABLE p DETACH PARTITION p2; UPDATE p2 SET note = 'alone';"
        " ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200)",
        ("UPDATE p2 SET note = concat('direct ', {n})",),
    ),
    Act("drop a partition", "DROP TABLE p2", ("UPDATE p SET note = concat('w', {n})",)),
    Act("disable triggers", "ALTER TABLE t DISABLE TRIGGER ALL; ALTER TABLE p1 DISABLE TRIGGER ALL"),
    Act(
        "disable and enable triggers",
        "ALTER TABLE t DISABLE TRIGGER USER; UPDATE t SET note = 'unseen'; ALTER TABLE t ENABLE TRIGGER USER",
    ),
    Act("drop the triggers", 'DROP TRIGGER "!stepwell" ON t', watched_only=True),
    Act("unlogged", "ALTER TABLE t SET UNLOGGED"),
    Act(
        "unlogged and back",
        "ALTER TABLE t SET UNLOGGED; UPDATE t SET note = 'unlogged'; ALTER TABLE t SET LOGGED",
    ),
    Act("rewrite", "VACUUM FULL t"),
    Act(
        "another key",
        "ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD PRIMARY KEY (id, name)",
        ("INSERT INTO t (id, name) VALUES (3, 'twice')",),
    ),
    Act(
        "no key",
        "ALTER TABLE t DROP CONSTRAINT t_pkey",
        (
            "INSERT INTO t (id) VALUES (3), (3)",
            "UPDATE t SET note = 'both' WHERE id = 3",
            "DELETE FROM t WHERE id = 3",
        ),
    ),
    Act("row-level security", "ALTER TABLE t ENABLE ROW LEVEL SECURITY"),
    Act(
        "a generated column",
        "ALTER TABLE t ADD twice int GENERATED ALWAYS AS (qty * 2) STORED",
        ("UPDATE t SET qty = {n}",),
    ),
    Act("truncate", "TRUNCATE t, p", ("INSERT INTO t (id) VALUES (1), (2)",)),
    Act("truncate a partition", "TRUNCATE p1", ("INSERT INTO p VALUES (1, '')",)),
    Act(
        "revoke the right to log",
        REVOKE,
        watched_only=True,
    ),
    Act(
        "drop the logs",
        DROP_LOGS,
        watched_only=True,
    ),
    Act("drop what keeps the losses", "DROP TABLE stepwell_log.losses", watched_only=True),
    Act("drop the position", "DROP SEQUENCE stepwell_log.position CASCADE", watched_only=True),
    Act("drop all of it", "DROP SCHEMA stepwell_log CASCADE", watched_only=True),
    Act("drop the views", "DROP SCHEMA stepwell_asof_t1 CASCADE", watched_only=True),
    Act(
        "replica",
        "SET session_replication_role = replica; INSERT INTO t (id) VALUES (900); UPDATE t SET note = 'applied';"
        " DELETE FROM t WHERE id = 5; UPDATE p SET note = 'applied'; RESET session_replication_role",
    ),
)
OFTEN = {
    "rename a column",
    "drop a column",
    "a key to bigint",
    "add a column with a default",
    "add one and drop one",
    "swap two tables",
    "drop the table, then its types",
    "another name for a value of an enum",
    "attach a partition",
    "detach and attach again",
    "disable and enable triggers",
    "truncate",
    "revoke the right to log",
    "drop all of it",
    "replica",
}
"""The acts that are tried each time."""
