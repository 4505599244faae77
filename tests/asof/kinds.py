"""The kinds of tables that hostile writers write: what they are made of, and which values go into them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg import sql

from tests.asof.types import TYPED, VALUES, XML

Connection = psycopg.Connection[tuple[object, ...]]
NUMBERS = tuple(map(str, range(1, 31)))
WORDS = (
    "'a'",
    "'b'",
    "'ß'",
    "'Ä\"\\'",
    "''",
    "'new\nline'",
    "'{x}'",
    "'(y,)'",
    "'NULL'",
    "' '",
    "'漢'",
    "'z'",
)


@dataclass(frozen=True)
class Column:
    """A column that writers write, and the literals that they choose from."""

    name: str
    literals: Sequence[str]
    shown: str = ""
    """How it is compared, where its own text would be too long or depend on settings."""


@dataclass(frozen=True)
class Kind:
    """A table. Names of tables and columns are quoted, as SQL has them."""

    name: str
    create: str
    key: tuple[Column, ...]
    values: tuple[Column, ...]
    parts: tuple[str, ...] = ()
    """Its partitions, which are written directly too."""
    made: tuple[str, ...] = ()
    """Columns that Postgres computes."""
    shift: str = ""
    """What the first column of the key becomes where all keys of a range are moved on; empty for key + 1."""
    later: str = ""
    """What its owner does to it while it is written."""

    @property
    def plain(self) -> str:
        """The table's name without quotes."""
        return self.name.removeprefix('"').removesuffix('"').replace('""', '"')

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.key, *self.values)

    @property
    def rows(self) -> str:
        """An expression for an array of all rows, each a text that differs where any value does."""
        shown = ", ".join([*(column.shown or column.name for column in self.columns), *self.made])
        return f"ARRAY(SELECT ROW({shown})::text FROM {self.name})"


_QTY = Column("qty", ("0", "1", "2", "3", "NULL"))
_ID = Column("id", NUMBERS)


def kinds(connection: Connection) -> tuple[Kind, ...]:
    """The kinds that the server can have."""
    return (
        *_plain(),
        *_named(),
        *_partitioned(),
        *_triggered(),
        _made(connection),
        _typed(connection),
    )


def create(connection: Connection, some: Sequence[Kind], role: str) -> None:
    """Make the tables, with some rows each, for `role` to write."""
    connection.execute(ODD_SCHEMA)
    for kind in some:
        connection.execute(sql.SQL(kind.create))
        names = ", ".join(column.name for column in kind.columns)
        for number in range(12):
            values = ", ".join(
                column.literals[(number * place) % len(column.literals)]
                for place, column in enumerate(kind.columns, 1)
            )
            with suppress(psycopg.errors.ForeignKeyViolation):
                connection.execute(
                    f"INSERT INTO {kind.name} ({names}) VALUES ({values}) ON CONFLICT DO NOTHING"
                )
    quoted = sql.Identifier(role)
    connection.execute(sql.SQL("CREATE ROLE {}").format(quoted))
    connection.execute(
        sql.SQL(
            "GRANT USAGE ON SCHEMA public, odd TO {0};"
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {0};"
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {0}"
        ).format(quoted)
    )


# Names that a search path finds before those of pg_catalog, where a function does not qualify its own.
ODD_SCHEMA = """
CREATE SCHEMA odd;
CREATE FUNCTION odd.to_json(anyelement) RETURNS json LANGUAGE sql AS $$ SELECT '{"odd": 1}'::json $$;
CREATE FUNCTION odd.pg_current_xact_id() RETURNS xid8 LANGUAGE sql AS $$ SELECT '3'::xid8 $$;
CREATE FUNCTION odd.age(xid) RETURNS int LANGUAGE sql AS $$ SELECT 0 $$;
CREATE FUNCTION odd.equal(int, int) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
CREATE OPERATOR odd.= (FUNCTION = odd.equal, LEFTARG = int, RIGHTARG = int);
"""


def _plain() -> Iterator[Kind]:
    yield Kind(
        "plain",
        "CREATE TABLE plain (id int PRIMARY KEY, status text, qty int, tags text[])",
        (_ID,),
        (
            Column("status", ("'open'", "'done'", "NULL", "''")),
            _QTY,
            Column("tags", ("'{}'", "'{a,NULL}'", "NULL", "'[0:1]={x,y}'", "'{{1,2},{3,4}}'")),
        ),
    )
    yield Kind(
        '"odd ""name"',
        'CREATE TABLE "odd ""name" (v numeric, "b ""c" text, gone int, "Select" int, note text,'
        ' PRIMARY KEY ("Select", "b ""c")); ALTER TABLE "odd ""name" DROP COLUMN gone',
        (Column('"Select"', NUMBERS[:6]), Column('"b ""c"', WORDS[:6])),
        (Column("v", ("1", "1.0", "1.00", "'NaN'", "NULL", "1e300")), Column("note", (*WORDS, "NULL"))),
    )
    yield Kind(
        "words",
        "CREATE TABLE words (n int, w text PRIMARY KEY, long text); ALTER TABLE words ALTER long SET STORAGE EXTERNAL",
        (Column("w", WORDS),),
        (
            Column("n", ("0", "7", "NULL")),
            Column("long", ("NULL", "repeat('long', 2000)", "repeat('ö', 3000)"), "md5(long)"),
        ),
        shift="w || '+'",
    )


def _named() -> Iterator[Kind]:
    """Names that what is made for a table might use itself, and equal keys that are written in more than one way."""
    names = ("position", "xid", "dead", "part", "image", "who", "old", "new", "o1", "n1", "x", "u", "l", "e")
    listed = ", ".join(f"{name} text" for name in names)
    yield Kind(
        "awkward",
        f"CREATE TABLE awkward (a2 int, a1 int PRIMARY KEY, {listed})",
        (Column("a1", NUMBERS),),
        (Column("a2", NUMBERS[:3]), *(Column(name, ("'a'", "'b'", "NULL")) for name in names)),
    )
    yield Kind(
        "numbers",
        "CREATE TABLE numbers (n numeric, f double precision, note text, PRIMARY KEY (n, f))",
        (
            Column("n", ("0", "1", "1.0", "1.00", "2", "2.0", "'NaN'")),
            Column("f", ("0", "'-0'", "1", "'NaN'")),
        ),
        (Column("note", WORDS),),
    )


def _partitioned() -> Iterator[Kind]:
    yield Kind(
        "nested",
        """
        CREATE TABLE nested (note text, kind text, id int, PRIMARY KEY (kind, id)) PARTITION BY LIST (kind);
        CREATE TABLE nested_a PARTITION OF nested FOR VALUES IN ('a', 'ß') PARTITION BY RANGE (id);
        CREATE TABLE nested_a1 PARTITION OF nested_a FOR VALUES FROM (0) TO (5);
        CREATE TABLE nested_a2 PARTITION OF nested_a DEFAULT;
        CREATE TABLE nested_rest PARTITION OF nested DEFAULT;
        """,
        (Column("id", NUMBERS[:9]), Column("kind", WORDS[:6])),
        (Column("note", (*WORDS, "NULL")),),
        parts=("nested_a", "nested_a1", "nested_a2", "nested_rest"),
        later="CREATE TABLE IF NOT EXISTS nested_a3 PARTITION OF nested_a FOR VALUES FROM (50) TO (60)",
    )
    yield Kind(
        "ranged",
        """
        CREATE TABLE ranged (id int PRIMARY KEY, qty int, at text) PARTITION BY RANGE (id);
        CREATE TABLE ranged_1 PARTITION OF ranged FOR VALUES FROM (MINVALUE) TO (10);
        CREATE TABLE ranged_2 (at text, gone text, qty int, id int NOT NULL);
        ALTER TABLE ranged_2 DROP COLUMN gone;
        ALTER TABLE ranged ATTACH PARTITION ranged_2 FOR VALUES FROM (10) TO (20);
        """,
        (_ID,),
        (_QTY, Column("at", WORDS)),
        parts=("ranged_1", "ranged_2"),
        later="CREATE TABLE IF NOT EXISTS ranged_3 PARTITION OF ranged FOR VALUES FROM (20) TO (MAXVALUE);"
        "GRANT ALL ON ranged_3 TO PUBLIC",
    )
    yield Kind(
        "hashed",
        """
        CREATE TABLE hashed (note text, place text, id int, PRIMARY KEY (id, place)) PARTITION BY HASH (place);
        CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
        CREATE TABLE hashed_2 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
        """,
        (Column("id", NUMBERS[:9]), Column("place", WORDS[:6])),
        (Column("note", (*WORDS, "NULL")),),
        parts=("hashed_1", "hashed_2"),
    )


def _triggered() -> Iterator[Kind]:
    yield _with_trigger(
        "neighbours",
        "AFTER INSERT OR UPDATE OR DELETE",
        "UPDATE neighbours SET hits = hits + 1 WHERE id IN (COALESCE(NEW.id, OLD.id) - 1, NEW.id, OLD.id + 1)",
    )
    yield _with_trigger(
        "eaters",
        "AFTER INSERT OR UPDATE OR DELETE",
        "DELETE FROM eaters WHERE id = COALESCE(NEW.id, OLD.id) + 1",
    )
    yield _with_trigger(
        "clearing",
        "BEFORE INSERT",
        "DELETE FROM clearing WHERE id IN (NEW.id, NEW.id + 1); NEW.hits := 7",
    )
    yield _with_trigger(
        "deferred",
        "AFTER INSERT OR UPDATE",
        "UPDATE deferred SET hits = hits + 1 WHERE id = NEW.id AND hits < 4",
        deferred=True,
    )
    yield Kind("parents", "CREATE TABLE parents (id int PRIMARY KEY, qty int)", (_ID,), (_QTY,))
    yield Kind(
        "children",
        """
        CREATE TABLE children (id int PRIMARY KEY, parent int REFERENCES parents ON UPDATE CASCADE ON DELETE CASCADE,
         other int REFERENCES parents ON UPDATE CASCADE ON DELETE SET NULL)
        """,
        (_ID,),
        (Column("parent", (*NUMBERS, "NULL")), Column("other", (*NUMBERS, "NULL"))),
    )


def _with_trigger(name: str, when: str, body: str, *, deferred: bool = False) -> Kind:
    """A table whose owner's trigger writes to it."""
    create = _TRIGGERED.format(
        name=name,
        when=when,
        body=body,
        constraint="CONSTRAINT" if deferred else "",
        deferred="DEFERRABLE INITIALLY DEFERRED" if deferred else "",
    )
    return Kind(name, create, (_ID,), (_QTY,), made=("hits",))


_TRIGGERED = """
CREATE TABLE {name} (id int PRIMARY KEY, qty int, hits int NOT NULL DEFAULT 0);
CREATE FUNCTION {name}_go() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
  IF pg_trigger_depth() < 3 THEN {body}; END IF;
  RETURN COALESCE(NEW, OLD);
END $$;
CREATE {constraint} TRIGGER " first" {when} ON {name} {deferred} FOR EACH ROW EXECUTE FUNCTION {name}_go();
"""


def _made(connection: Connection) -> Kind:
    virtual = connection.info.server_version >= 180000
    return Kind(
        "made",
        "CREATE TABLE made (twice int GENERATED ALWAYS AS (qty * 2) STORED, qty int, name text,"
        + (" joined text GENERATED ALWAYS AS (name || '/' || qty) VIRTUAL," if virtual else "")
        + " id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY)",
        (_ID,),
        (_QTY, Column("name", (*WORDS, "NULL"))),
        made=("twice", *(["joined"] if virtual else [])),
    )


def _typed(connection: Connection) -> Kind:
    values = VALUES | (XML if _has_xml(connection) else {})
    columns = tuple(
        Column(f"c{number}", (*(f"{literal}::{name}" for literal in literals), "NULL"), _shown(name, number))
        for number, (name, literals) in enumerate(values.items())
    )
    listed = ", ".join(f"c{number} {name}" for number, name in enumerate(values))
    return Kind("typed", f"{TYPED} CREATE TABLE typed (id int PRIMARY KEY, {listed})", (_ID,), columns)


def _shown(name: str, number: int) -> str:
    """A name of something in the database is written with or without its schema, as the search path has it."""
    return f"c{number}::oid" if name.startswith("reg") else ""


def _has_xml(connection: Connection) -> bool:
    try:
        connection.execute("SELECT '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        return False
    return True
