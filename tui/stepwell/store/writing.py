"""Rows that a recorder writes, and the statements that write them.

Every function leaves the transaction to its caller: on an autocommit connection each is one round trip and one
commit, in a pipeline all are one transaction. Sending and reading are apart, as a pipeline needs it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import Connection, Cursor
from psycopg.types.numeric import Int8

from stepwell.core.liveness import lock_key
from stepwell.errors import DatabaseError
from stepwell.store import arrays
from stepwell.store.arrays import IntArray, TextArray, TimeArray, UuidArray
from stepwell.store.prepared import ID, INT8, MOMENT, TEXT, Prepared
from stepwell.store.queries import query

PREPARE_AFTER = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Start(NamedTuple):
    """A step that begins. JSON as text, times as microseconds since 1970.

    With an `output` it has finished too, in the same instant. `known` is the last step number of the run that the
    recorder knows of: where there is a newer one, nothing is written.
    """

    run_id: UUID
    step_type: str
    agent: str | None
    name: str | None
    parent_step: int | None
    seed: int | None
    started_at: int
    input: str
    input_exact: str | None
    output: str | None = None
    output_exact: str | None = None
    known: int | None = None


class Finish(NamedTuple):
    """The outcome of a step. JSON as text, times as microseconds since 1970."""

    run_id: UUID
    step_number: int
    output: str | None
    output_exact: str | None
    error: str | None
    finished_at: int
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str | None = None
    call_hash: int | None = None
    loop: str | None = None


_START_COLUMNS: tuple[Any, ...] = (
    *(UuidArray, TextArray, TextArray, TextArray, IntArray, IntArray, TimeArray),
    *(TextArray, TextArray, TextArray, TextArray, IntArray),
)
_FINISH_COLUMNS: tuple[Any, ...] = (
    *(UuidArray, IntArray, TextArray, TextArray, TextArray, TimeArray),
    *(IntArray, IntArray, TextArray, IntArray, TextArray),
)

_START = Prepared(
    "start_step", Start._fields, (ID, TEXT, TEXT, TEXT, INT8, INT8, MOMENT, TEXT, TEXT, TEXT, TEXT, INT8)
)
_FINISH = Prepared(
    "finish_step", Finish._fields, (ID, INT8, TEXT, TEXT, TEXT, MOMENT, INT8, INT8, TEXT, INT8, TEXT)
)


def prepare(connection: Connection[Any], *, durable: bool) -> None:
    """Make `connection`, which is in autocommit, a recorder's.

    Raises DatabaseError where the tables are not there.
    """
    arrays.register(connection)
    connection.prepare_threshold = PREPARE_AFTER
    row = connection.execute(query("read_recording_schema")).fetchone()
    assert row is not None
    there, user, database, path = row
    if not there:
        raise DatabaseError(
            f"no table agent_runs in database {database} as {user} (search_path: {path}), or an older one;"
            " create it: stepwell init"
        )
    connection.execute(query("prepare_writer"), {"durable": durable})
    _START.prepare(connection)
    _FINISH.prepare(connection)


def start_one(connection: Connection[Any], row: Start) -> int | None:
    """Begin one step. Returns its number, None where it was not written."""
    result = _START.run(connection, row)
    number = result.get_value(0, 1) if result.ntuples else None
    return None if number is None else int.from_bytes(number, "big")


def finish_one(connection: Connection[Any], row: Finish) -> bool:
    """Give one step its outcome. Returns whether it had none yet."""
    return _FINISH.run(connection, row).ntuples == 1


def send_starts(cursor: Cursor[Any], rows: Sequence[Start]) -> None:
    """Begin steps; `read_numbers` has their numbers."""
    if len(rows) == 1:
        row = rows[0]._asdict()
        row["started_at"] = _moment(rows[0].started_at)
        for name in ("parent_step", "seed", "known"):
            row[name] = _int8(row[name])
        cursor.execute(query("start_step"), row)
    else:
        cursor.execute(query("start_steps"), _columns(rows, _START_COLUMNS))


def read_numbers(cursor: Cursor[Any], rows: Sequence[Start]) -> list[int | None]:
    """The numbers of the steps sent last, in their order; None for the steps that were not written."""
    given: defaultdict[UUID, list[int]] = defaultdict(list)
    for run_id, number in cursor.fetchall():
        given[run_id].append(number)
    # A run's steps are numbered in the order in which they are sent; RETURNING promises no order.
    numbers = {run_id: deque(sorted(found)) for run_id, found in given.items()}
    return [numbers[row.run_id].popleft() if row.run_id in numbers else None for row in rows]


def send_finishes(cursor: Cursor[Any], rows: Sequence[Finish]) -> None:
    """Give steps their outcomes. One that has its outcome already keeps it."""
    if len(rows) == 1:
        row = rows[0]._asdict()
        row["finished_at"] = _moment(rows[0].finished_at)
        for name in ("step_number", "tokens_in", "tokens_out", "call_hash"):
            row[name] = _int8(row[name])
        cursor.execute(query("finish_step"), row)
    else:
        cursor.execute(query("finish_steps"), _columns(rows, _FINISH_COLUMNS))


def send_open(cursor: Cursor[Any], run_id: UUID, name: str | None, tags: str | None, started_at: int) -> None:
    """Begin a run. Sent again, it begins no second one."""
    row = {"run_id": run_id, "name": name, "tags": tags, "started_at": _moment(started_at)}
    cursor.execute(query("open_run"), {**row, "key": Int8(lock_key(run_id))})


def send_resume(cursor: Cursor[Any], run_id: UUID) -> None:
    """Take up a run; the cursor then has a row that begins with its number of steps, or none for no such run."""
    cursor.execute(query("resume_run"), {"run_id": run_id, "key": Int8(lock_key(run_id))})


def send_end(cursor: Cursor[Any], run_id: UUID, status: str, finished_at: int, error: str | None) -> None:
    """End a run; the cursor then has a row, or none for no such run."""
    row = {"run_id": run_id, "status": status, "finished_at": _moment(finished_at), "error": error}
    cursor.execute(query("end_run"), {**row, "key": Int8(lock_key(run_id))})


@contextmanager
def transaction(
    connection: Connection[Any], run_ids: Collection[UUID], sent: Callable[[], None] | None = None
) -> Iterator[None]:
    """Everything sent in here is one transaction and one round trip; results are read afterwards.

    The rows of several runs are locked in one order everywhere, so that such transactions never deadlock.
    psycopg's own `transaction()` would wait for the server after its BEGIN and before its COMMIT.
    `sent` is called when all is on its way, before the wait for the server.
    """
    try:
        with one_trip(connection, sent):
            connection.execute("BEGIN")
            if len(run_ids) > 1:
                connection.execute(query("lock_runs"), {"run_ids": UuidArray(list(run_ids))})
            yield
            connection.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            connection.rollback()
        raise


@contextmanager
def one_trip(connection: Connection[Any], sent: Callable[[], None] | None) -> Iterator[None]:
    """What is sent in here is sent at once; `sent` is called when it is on its way, before the wait for the server."""
    with connection.pipeline() as pipeline:
        yield
        if sent is not None:
            pipeline.sync()
            sent()


def hold_runs(connection: Connection[Any], run_ids: Iterable[UUID]) -> None:
    """Take the locks of runs that are open on this connection."""
    keys = [lock_key(run_id) for run_id in run_ids]
    if keys:
        connection.execute(query("hold_runs"), {"keys": IntArray(keys)}, prepare=False)


def end_backend(connection: Connection[Any], pid: int) -> None:
    """Make sure that the session of a lost connection has ended, so that what it committed can be told."""
    connection.execute(query("end_backend"), {"pid": pid}, prepare=False)


def find_started(connection: Connection[Any], row: Start, after: int) -> list[int]:
    """Numbers beyond `after` of steps that are the same as `row` to the microsecond and the last byte."""
    given = {**row._asdict(), "after": after, "started_at": _moment(row.started_at)}
    return [number for (number,) in connection.execute(query("find_started_step"), given, prepare=False)]


def _columns(rows: Sequence[Start] | Sequence[Finish], kinds: Sequence[Any]) -> dict[str, object]:
    values = zip(*rows, strict=True)
    return {name: kind(column) for name, kind, column in zip(rows[0]._fields, kinds, values, strict=True)}


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _int8(value: int | None) -> Int8 | None:
    """Of one type whatever its size, so that one prepared statement serves all."""
    return None if value is None else Int8(value)
