"""The agent's own connection to the database: what it sees before a call and after it, its own writes included."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.pq import TransactionStatus

from stepwell.errors import RecordingError, UsageError
from stepwell.recorder.intents import Errand
from stepwell.recorder.manner import manner_of
from stepwell.store.sights import AgentConnection, has_begun, read_sight, read_sight_async, status_of

if TYPE_CHECKING:
    from stepwell.recorder.writer import Writer

NAMES = ("driver_connection", "sync_connection", "connection")
"""What leads from an object that wraps a connection to the one below, as in SQLAlchemy and Django."""
LAYERS = 4
"""How many objects may stand before the connection of psycopg itself."""


class Own:
    """A connection of the agent's, asked only where that can neither change nor break what the agent does with it.

    That is between its statements, and outside a transaction or in one that certainly has had its first query: one
    that holds a snapshot, or has written and holds no ACCESS EXCLUSIVE lock (which may be all that it has done).
    Elsewhere there is no answer, and the recorder's own snapshot stands for it.
    """

    __slots__ = ("_given", "_process")

    def __init__(self, given: object) -> None:
        """A psycopg connection, or what leads to one by `NAMES`.

        Raises UsageError for anything else.
        """
        self._given, self._process = given, os.getpid()
        with suppress(_NotNowError):
            if _driver(given) is None:
                raise UsageError(
                    f"connection is a psycopg connection, or leads to one, not {type(given).__name__}"
                )

    @property
    def given(self) -> object:
        """What the agent handed in."""
        return self._given

    def manner(self) -> str | None:
        """How it is set, as JSON; None where that is as by default, or cannot be seen now."""
        connection = self._found()
        return None if connection is None else manner_of(connection, self._given)

    def look(self, writer: Writer) -> str | None:
        """What it sees now, as a row takes it; None where it cannot be asked. For a step that is not awaited."""
        connection = self._found()
        with suppress(psycopg.Error, RecordingError):  # the agent will meet it too
            if not isinstance(connection, Connection) or (status := status_of(connection)) is None:
                return None
            if status == TransactionStatus.INTRANS:
                question = _question(connection)
                writer.do(question)
                if not question.result:
                    return None
            return _read(connection, status)
        return None

    async def alook(self, writer: Writer) -> str | None:
        """`look` for tasks."""
        connection = self._found()
        with suppress(psycopg.Error, RecordingError):  # the agent will meet it too
            if connection is None or (status := status_of(connection)) is None:
                return None
            if status == TransactionStatus.INTRANS:
                question = _question(connection)
                writer.submit(question)
                await question.wait_async()
                if not question.result:
                    return None
            if isinstance(connection, Connection):
                return _read(connection, status)
            return await _read_async(connection, status)
        return None

    def _found(self) -> AgentConnection | None:
        if os.getpid() != self._process:  # in a forked child it is the parent's still
            return None
        try:
            return _driver(self._given)
        except _NotNowError:
            return None


class _NotNowError(Exception):
    """What should lead to a connection does not: it is closed, or opened only when it is used."""


def _driver(given: Any) -> AgentConnection | None:
    for _ in range(LAYERS):
        if isinstance(given, Connection | AsyncConnection):
            return given
        given = _below(given)
    return given if isinstance(given, Connection | AsyncConnection) else None


def _below(given: object) -> object:
    """The next object on the way to the connection; None where this one leads to nothing. Raises _NotNowError."""
    leads = False
    try:
        for name in NAMES:
            inner = getattr(given, name, given)
            if inner is given:  # it has no such attribute
                continue
            if inner is not None:
                return inner
            leads = True
    except Exception as error:  # of the class of a library that is not known here
        raise _NotNowError from error
    if leads:
        raise _NotNowError
    return None


def _question(connection: AgentConnection) -> Errand:
    backend = connection.pgconn.backend_pid
    return Errand(f"the transaction of backend {backend} was not looked at", lambda c: has_begun(c, backend))


def _read(connection: Connection[Any], status: TransactionStatus) -> str | None:
    if not connection.lock.acquire(blocking=False):  # another thread is using it
        return None
    try:
        return read_sight(connection) if status_of(connection) == status else None
    finally:
        connection.lock.release()


async def _read_async(connection: AsyncConnection[Any], status: TransactionStatus) -> str | None:
    if connection.lock.locked():  # another task is using it
        return None
    async with connection.lock:
        return await read_sight_async(connection) if status_of(connection) == status else None
