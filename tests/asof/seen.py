"""What was seen of the tables at an instant, and the observers that see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from threading import Event, Lock, Thread

import psycopg

from stepwell.core.past import Instant
from tests.asof.kinds import Connection, Kind

Rows = tuple[str, ...]
PINNED = {
    "extra_float_digits": "1",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "TimeZone": "UTC",
    "quote_all_identifiers": "off",
    "lc_monetary": "C",
}
"""Settings under which values that differ have texts that differ."""
OWN = (
    "pg_current_xact_id_if_assigned()::text,"
    " coalesce(nullif(current_setting('stepwell.written', true), '')::bigint, 0)"
)
"""What the transaction has written itself: its xid, and how far it has got in the logs."""
HOLE = """
SELECT count(*) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relfilenode <> pg_relation_filenode(oid)
"""
"""Tables that were emptied or rewritten since the snapshot: it finds nothing in them, whatever was there."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The rows of each table, by its name, sorted, as a snapshot showed them."""

    instant: Instant
    rows: Mapping[str, Rows]
    lasting: bool = True
    """False where a transaction saw writes of its own that it rolled back later."""
    observer: int | None = None
    """Which one; None for a writer that looked."""


class Sights:
    """All that was seen in a run, from many threads. Equal rows are kept once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._all: list[Seen] = []
        self._texts: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._all)

    def extend(self, seen: Sequence[Seen], *, lasting: bool = True) -> None:
        with self._lock:
            for one in seen:
                rows = {
                    name: tuple(self._texts.setdefault(text, text) for text in texts)
                    for name, texts in one.rows.items()
                }
                self._all.append(Seen(one.instant, rows, lasting and one.lasting, one.observer))

    def all(self) -> list[Seen]:
        with self._lock:
            return list(self._all)


class HoleError(Exception):
    """The snapshot is older than what the tables are stored in now, so what it shows is not what was there."""


def pin(connection: Connection, *, local: bool = False) -> None:
    """Set what `PINNED` says, for the session or for the transaction alone."""
    for name, value in PINNED.items():
        connection.execute("SELECT set_config(%s, %s, %s)", (name, value, local))


def look_within(connection: Connection, kinds: Sequence[Kind]) -> Seen:
    """What a transaction that is open sees now, its own writes with it; leaves no setting. Raises HoleError."""
    connection.execute("SAVEPOINT look")
    try:
        connection.execute("SET LOCAL ROLE NONE; SET LOCAL search_path = public, pg_catalog")
        pin(connection, local=True)
        said, rows = read_rows(connection, kinds, OWN)
    finally:
        connection.execute("ROLLBACK TO look; RELEASE look")
    return Seen(instant_of(said, connection.info.backend_pid), rows)


def read_rows(
    connection: Connection, kinds: Sequence[Kind], besides: str = "0"
) -> tuple[tuple[object, ...], dict[str, Rows]]:
    """The rows of all tables, and before them the snapshot that shows them: in one statement, so in one snapshot."""
    columns = ", ".join([*(kind.rows for kind in kinds), f"({HOLE})"])
    # A prepared statement would be planned for the settings of its first use.
    found = connection.execute(
        f"SELECT pg_current_snapshot()::text, {besides}, {columns}".encode(), prepare=False
    ).fetchone()
    assert found is not None
    first, hole = len(found) - len(kinds) - 1, found[-1]
    if hole:
        raise HoleError
    texts = [sorted(map(str, rows)) for rows in found[first:-1] if isinstance(rows, list)]
    return found[:first], {kind.name: tuple(rows) for kind, rows in zip(kinds, texts, strict=True)}


class Observer(Thread):
    """Looks at all tables in a snapshot of its own at random moments, until there is enough or it is told to stop."""

    def __init__(
        self,
        conninfo: str,
        kinds: Sequence[Kind],
        seed: tuple[int, int],
        stop: Event,
        sights: Sights,
        pause: float,
    ) -> None:
        super().__init__(name=f"observer {seed}", daemon=True)
        self._number = seed[1]
        self._conninfo = conninfo
        self._kinds = kinds
        self._chance = Random(f"{seed}")
        self._stopped = stop
        self._sights = sights
        self._pause = pause

    def run(self) -> None:
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            pin(connection)
            while not self._stopped.is_set():
                try:
                    self._look(connection)
                except (psycopg.errors.DeadlockDetected, HoleError):
                    connection.execute("ROLLBACK")
                self._stopped.wait(self._chance.uniform(0, 2 * self._pause))

    def _look(self, connection: Connection) -> None:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        (snapshot, _), rows = read_rows(connection, self._kinds)
        connection.execute("COMMIT")
        self._sights.extend([Seen(Instant(str(snapshot)), rows, observer=self._number)])


def read_instant(connection: Connection) -> Instant:
    """What the connection sees now, its own writes with it."""
    found = connection.execute(f"SELECT pg_current_snapshot()::text, {OWN}".encode()).fetchone()
    assert found is not None
    return instant_of(found, connection.info.backend_pid)


def instant_of(said: Sequence[object], backend: int) -> Instant:
    """From a snapshot and `OWN`."""
    snapshot, own, position = said
    if own is None:
        return Instant(str(snapshot), backend=backend)
    return Instant(str(snapshot), int(str(own)), int(str(position)), backend)
