"""What was seen of the tables at an instant, and the observers that see it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from threading import Event, Lock, Thread

import psycopg

from stepwell.core.past import Instant
from stepwell.store.instants import number_of
from stepwell.store.sights import read_sight
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


@dataclass(frozen=True, slots=True)
class Seen:
    """The rows of each table, by its name, sorted, as a snapshot showed them."""

    instant: Instant
    rows: Mapping[str, Rows]
    lasting: bool = True
    """False where a transaction saw its own writes and was rolled back later."""


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
                self._all.append(Seen(one.instant, rows, lasting))

    def all(self) -> list[Seen]:
        with self._lock:
            return list(self._all)


def pin(connection: Connection, *, local: bool = False) -> None:
    """Set what `PINNED` says, for the session or for the transaction alone."""
    for name, value in PINNED.items():
        connection.execute("SELECT set_config(%s, %s, %s)", (name, value, local))


@contextmanager
def pinned_rows(
    connection: Connection, kinds: Sequence[Kind]
) -> Iterator[tuple[tuple[object, ...], dict[str, Rows]]]:
    """Snapshot, xid and position of the transaction that is open, and the rows that it sees; leaves no setting."""
    connection.execute("SAVEPOINT look")
    connection.execute("SET LOCAL ROLE NONE; SET LOCAL search_path = public, pg_catalog")
    pin(connection, local=True)
    position = "coalesce(pg_sequence_last_value('stepwell_log.position'), 0)"
    said, rows = read_rows(connection, kinds, f"pg_current_xact_id_if_assigned()::text, {position}")
    connection.execute("ROLLBACK TO look; RELEASE look")
    yield said, rows


def read_rows(
    connection: Connection, kinds: Sequence[Kind], besides: str = "0"
) -> tuple[tuple[object, ...], dict[str, Rows]]:
    """The rows of all tables, and before them the snapshot that shows them: in one statement, so in one snapshot."""
    columns = ", ".join(kind.rows for kind in kinds)
    # A prepared statement would be planned for the settings of its first use.
    found = connection.execute(
        f"SELECT pg_current_snapshot()::text, {besides}, {columns}".encode(), prepare=False
    ).fetchone()
    assert found is not None
    first = len(found) - len(kinds)
    texts = [sorted(map(str, rows)) for rows in found[first:] if isinstance(rows, list)]
    return found[:first], {kind.name: tuple(rows) for kind, rows in zip(kinds, texts, strict=True)}


class Observer(Thread):
    """Looks at all tables in a snapshot of its own at random moments, until there is enough or it is told to stop."""

    def __init__(
        self, conninfo: str, kinds: Sequence[Kind], seed: str, stop: Event, sights: Sights, pause: float
    ) -> None:
        super().__init__(name=f"observer {seed}", daemon=True)
        self._conninfo = conninfo
        self._kinds = kinds
        self._chance = Random(seed)
        self._stopped = stop
        self._sights = sights
        self._pause = pause

    def run(self) -> None:
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            pin(connection)
            while not self._stopped.is_set():
                try:
                    self._look(connection)
                except psycopg.errors.DeadlockDetected:  # with the owner's ALTER TABLE
                    connection.execute("ROLLBACK")
                self._stopped.wait(self._chance.uniform(0, 2 * self._pause))

    def _look(self, connection: Connection) -> None:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        (snapshot, _), rows = read_rows(connection, self._kinds)
        connection.execute("COMMIT")
        self._sights.extend([Seen(Instant(str(snapshot)), rows)])


def read_instant(connection: Connection) -> Instant:
    """What a recorder that is given the connection would note of it now."""
    text = read_sight(connection)
    assert text is not None
    said = json.loads(text)
    own = number_of(said["own"])
    return Instant(said["snapshot"], own, None if own is None else int(said["position"]), said["backend"])
