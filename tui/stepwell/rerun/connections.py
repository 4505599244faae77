"""Connections of psycopg that lead to the database of a replay, for agents that wait and for those that await."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import ref

import psycopg
from psycopg import sql, waiting
from psycopg.abc import PQGen
from psycopg.pq.abc import PGconn

from stepwell.core.sql_clock import Told
from stepwell.core.sql_errors import in_own_words

if TYPE_CHECKING:
    from psycopg._connection_base import BaseConnection

RV = TypeVar("RV")
FORBIDDEN = "Explicit {}() forbidden within a Transaction context."
CLOSED = "the connection is closed"
"""Both as psycopg says them."""


class Keeper(Protocol):
    """Whoever keeps the transaction that these connections are in."""

    def before(self, *, apart: bool) -> None:
        """Something is about to be sent; `apart` from all before it, in a transaction of its own. Raises Stop."""
        ...

    def met(self, problem: psycopg.Error) -> None:
        """The database has refused something. Raises Stop where that ends the replay."""
        ...

    def admit(self, text: str) -> Told:
        """What is sent for a text of the agent's. Raises psycopg.Error where it is not sent."""
        ...

    def begin(self) -> None:
        """A transaction of the agent's own begins."""
        ...

    def check(self) -> None:
        """Raises UsageError where the agent goes on for real, and these lead nowhere any more."""
        ...

    begun: bool
    """Whether the agent is in a transaction of its own."""

    def commit(self) -> None: ...
    def rollback(self) -> None: ...


class _Cursor:
    """Before a cursor's own methods: what is sent is looked at. The same for those that are awaited."""

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        return super().execute(_admitted(self, query), *args, **kwargs)  # type: ignore[misc]  # of the class beside

    def executemany(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        return super().executemany(_admitted(self, query), *args, **kwargs)  # type: ignore[misc]  # of the class beside

    def stream(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        return super().stream(_admitted(self, query), *args, **kwargs)  # type: ignore[misc]  # of the class beside

    def copy(self, statement: Any, *args: Any, **kwargs: Any) -> Any:
        return super().copy(_admitted(self, statement), *args, **kwargs)  # type: ignore[misc]  # of the class beside


def _admitted(cursor: Any, query: Any) -> Any:
    """The query, or what is sent for it. Those of other kinds than these go as they are."""
    connection = cursor.connection
    connection.check_open()
    if isinstance(query, sql.Composable):
        text = query.as_string(connection)
    elif isinstance(query, bytes):
        text = query.decode(connection.info.encoding, "replace")
    elif isinstance(query, str):
        text = query
    else:
        return query
    told = connection.keeper.admit(text)
    connection.told = ref(cursor), told
    return query if told.text == text else told.text


@cache
def _looking(cls: type) -> type:
    """A class of cursors, with `_Cursor` before it. It counts as the one that it stands for, as do connections."""
    if issubclass(cls, _Cursor):
        return cls
    return type(
        cls.__name__, (_Cursor, cls), {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    )


class _Factories:
    """Whatever class of cursors the agent wants."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("cursor_factory", "server_cursor_factory") and isinstance(value, type):
            value = _looking(value)
        super().__setattr__(name, value)


class _Closing:
    """Before a connection's own methods: what the agent has closed leads nowhere, though the replay goes on."""

    keeper: Keeper
    told: tuple[ref[Any], Told] | None = None
    """What a cursor has sent last."""
    _closed: bool

    @property
    def closed(self) -> bool:
        return self._closed or bool(super().closed)  # type: ignore[misc]  # of the class beside

    def check_open(self) -> None:
        """Raises as psycopg does for one that the agent has closed, and as `Keeper.check`."""
        if self._closed:
            raise psycopg.OperationalError(CLOSED)
        self.keeper.check()

    def _check_connection_ok(self) -> None:
        self.check_open()
        super()._check_connection_ok()  # type: ignore[misc]  # of the class beside


def _check(connection: ReplayConnection | AsyncReplayConnection, name: str) -> None:
    connection.check_open()
    if connection._num_transactions:
        raise psycopg.ProgrammingError(FORBIDDEN.format(name))


def _met(connection: ReplayConnection | AsyncReplayConnection, problem: psycopg.Error) -> None:
    """As `Keeper.met`; an error that shows where in a statement it is shows the agent's own."""
    sent_by, told = connection.told or (None, Told(""))
    query = None if sent_by is None else getattr(sent_by(), "_query", None)
    place = problem.diag.statement_position
    if told.instead and place is not None and query is not None:
        sent = query.query.decode(connection.info.encoding, "replace")
        problem.args = (in_own_words(str(problem), int(place), sent, told.instead), *problem.args[1:])
    connection.keeper.met(problem)


def _is_apart(connection: BaseConnection[Any]) -> bool:
    return connection.autocommit and not connection._num_transactions


class ReplayConnection(_Factories, _Closing, psycopg.Connection[Any]):
    """For code that waits. What begins, ends and sets transactions means savepoints; `close` ends but this object."""

    __module__, __qualname__ = psycopg.Connection.__module__, psycopg.Connection.__qualname__

    def __init__(self, pgconn: PGconn, keeper: Keeper) -> None:
        super().__init__(pgconn)
        self.keeper = keeper
        self.prepare_threshold = None  # others prepare in the same session, by the same names

    def wait(self, gen: PQGen[RV], *args: Any, **kwargs: Any) -> RV:
        self.check_open()
        self.keeper.before(apart=_is_apart(self))
        try:
            return super().wait(gen, *args, **kwargs)
        except psycopg.Error as problem:
            _met(self, problem)
            raise

    def commit(self) -> None:
        _check(self, "commit")
        with self.lock:
            self.keeper.commit()

    def rollback(self) -> None:
        _check(self, "rollback")
        with self.lock:
            self._prepared.clear()
            self.keeper.rollback()

    @contextmanager
    def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> Iterator[psycopg.Transaction]:
        is_outer = not self.keeper.begun
        try:
            with super().transaction(savepoint_name, force_rollback) as transaction:
                if is_outer:
                    self.keeper.begin()
                yield transaction
        finally:
            if is_outer:  # one that failed is rolled back already
                self.keeper.commit()

    def close(self) -> None:
        if not self.closed:
            self._closed = True
            self.keeper.rollback()

    def set_autocommit(self, value: bool) -> None:
        self.check_open()
        self._autocommit = bool(value)

    def set_isolation_level(self, value: psycopg.IsolationLevel | None) -> None:
        self._isolation_level = None if value is None else psycopg.IsolationLevel(value)

    def set_read_only(self, value: bool | None) -> None:
        self._read_only = value

    def set_deferrable(self, value: bool | None) -> None:
        self._deferrable = value


class AsyncReplayConnection(_Factories, _Closing, psycopg.AsyncConnection[Any]):
    """For code that awaits. It waits for the database all the same, so that the order is always the same."""

    __module__, __qualname__ = psycopg.AsyncConnection.__module__, psycopg.AsyncConnection.__qualname__

    def __init__(self, pgconn: PGconn, keeper: Keeper) -> None:
        super().__init__(pgconn)
        self.keeper = keeper
        self.prepare_threshold = None  # others prepare in the same session, by the same names

    async def wait(self, gen: PQGen[RV], *args: Any, **kwargs: Any) -> RV:  # noqa: ARG002 psycopg gives more
        self.check_open()
        self.keeper.before(apart=_is_apart(self))
        try:
            return waiting.wait(gen, self.pgconn.socket)
        except psycopg.Error as problem:
            _met(self, problem)
            raise

    async def commit(self) -> None:
        _check(self, "commit")
        async with self.lock:
            self.keeper.commit()

    async def rollback(self) -> None:
        _check(self, "rollback")
        async with self.lock:
            self._prepared.clear()
            self.keeper.rollback()

    @asynccontextmanager
    async def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> AsyncIterator[psycopg.AsyncTransaction]:
        is_outer = not self.keeper.begun
        try:
            async with super().transaction(savepoint_name, force_rollback) as transaction:
                yield transaction
        finally:
            if is_outer:  # one that failed is rolled back already
                self.keeper.commit()

    async def close(self) -> None:
        if not self.closed:
            self._closed = True
            self.keeper.rollback()

    async def set_autocommit(self, value: bool) -> None:
        self.check_open()
        self._autocommit = bool(value)

    async def set_isolation_level(self, value: psycopg.IsolationLevel | None) -> None:
        self._isolation_level = None if value is None else psycopg.IsolationLevel(value)

    async def set_read_only(self, value: bool | None) -> None:
        self._read_only = value

    async def set_deferrable(self, value: bool | None) -> None:
        self._deferrable = value


def is_awaited(given: object) -> bool:
    """Whether who was given this is to get a connection to be awaited."""
    if isinstance(given, psycopg.Connection | psycopg.AsyncConnection):
        return isinstance(given, psycopg.AsyncConnection)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
