"""Hostile writers: what applications do at their worst, several at once, each on its own connection."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from random import Random
from threading import Event, Thread

import psycopg

from tests.asof.kinds import Connection, Kind
from tests.asof.seen import HoleError, Seen, Sights, look_within
from tests.asof.verbs import statement

ISOLATION = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
SETTINGS = (
    "SET search_path = odd, pg_catalog, public",
    "SET search_path = ''",
    "SET extra_float_digits = -3",
    "SET DateStyle = 'German'",
    "SET DateStyle = 'SQL, DMY'",
    "SET IntervalStyle = sql_standard",
    "SET IntervalStyle = iso_8601",
    "SET bytea_output = escape",
    "SET TimeZone = 'Pacific/Chatham'",
    "SET xmloption = document",
    "SET session_replication_role = replica",
    "SET array_nulls = off",
    "SET quote_all_identifiers = on",
    "SET standard_conforming_strings = off",
)
"""Of which each writer has three: functions that its statements fire run under them unless they pin their own."""


class Writer(Thread):
    """Writes until told to stop. Failures of serialization, of keys and of locks are an application's everyday."""

    def __init__(
        self,
        conninfo: str,
        kinds: Sequence[Kind],
        seed: str,
        sights: Sights,
        *,
        stop: Event,
        looking: Event,
        role: str | None,
    ) -> None:
        super().__init__(name=f"writer {seed}", daemon=True)
        self.committed = 0
        self.failures: dict[str, int] = {}
        """How many statements failed, by what the server said."""
        self._conninfo = conninfo
        self._kinds = kinds
        self._chance = Random(seed)
        self._stopped = stop
        self._looking = looking
        self._sights = sights
        self._role = role

    def run(self) -> None:
        options = "-c deadlock_timeout=30ms -c lock_timeout=2s"
        with psycopg.connect(self._conninfo, autocommit=True, options=options) as connection:
            for setting in self._chance.sample(SETTINGS, 3):
                connection.execute(setting)
            if self._role:
                connection.execute(f'SET ROLE "{self._role}"')
            while not self._stopped.is_set():
                self._transaction(connection)

    def _transaction(self, connection: Connection) -> None:
        chance = self._chance
        seen: list[Seen] = []
        with self._failing(connection):
            connection.execute(f"BEGIN ISOLATION LEVEL {chance.choice(ISOLATION)}")
            for _ in range(chance.randint(1, 5)):
                self._step(connection, seen)
            if chance.random() < 0.01:
                self._stopped.wait(0.5)
            lasting = chance.random() < 0.9
            connection.execute("COMMIT" if lasting else "ROLLBACK")
            self.committed += lasting
            self._sights.extend(seen, lasting=lasting)

    @contextmanager
    def _failing(self, connection: Connection) -> Iterator[None]:
        """Roll back what is open at the end; count what fails on the way."""
        try:
            yield
        except psycopg.Error as error:
            self._count(error)
        finally:
            if not connection.closed:
                connection.execute("ROLLBACK")

    def _count(self, error: psycopg.Error) -> None:
        said = f"{error.sqlstate}: {str(error).splitlines()[0]}"
        self.failures[said] = self.failures.get(said, 0) + 1

    def _step(self, connection: Connection, seen: list[Seen]) -> None:
        """A statement, most often in a savepoint that is kept or rolled back, and at times a look around."""
        chance = self._chance
        how = chance.choice(("bare", "kept", "kept", "kept", "rolled back"))
        before = len(seen)
        if how != "bare":
            connection.execute("SAVEPOINT s")
        try:
            for _ in range(chance.randint(1, 2)):
                connection.execute(statement(chance.choice(self._kinds), chance))
            if self._looking.is_set() and chance.random() < 0.1:
                with suppress(HoleError):
                    seen.append(look_within(connection, self._kinds))
        except psycopg.Error as error:
            if how == "bare":
                raise
            self._count(error)
            how = "rolled back"
        if how == "rolled back":
            # What was seen inside is of versions that nobody will know of.
            seen[before:] = [replace(each, lasting=False) for each in seen[before:]]
            connection.execute("ROLLBACK TO s")
        elif how == "kept":
            connection.execute("RELEASE s")
