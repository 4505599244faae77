"""The statements that write what a recorder has to say.

Each function is one round trip and, on the autocommit connection that they are for, one commit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from psycopg import Connection, Cursor
from psycopg.errors import DivisionByZero
from psycopg.types.numeric import Int8

from stepwell.core.liveness import lock_key
from stepwell.errors import DatabaseError
from stepwell.store.batch import WRITE_STEPS, Batch
from stepwell.store.branches import resolved, steps_query
from stepwell.store.columns import check_columns
from stepwell.store.origins import columns_of, learn_origin
from stepwell.store.pooled import SETTINGS, is_pooled, send_whole, transient
from stepwell.store.prepared import BOOL, INT8, Prepared
from stepwell.store.queries import query
from stepwell.store.rows import FINISH_KINDS, START_KINDS, Ended, Finish, Opened, Resumed, Start

LOCK_TIMEOUT = "30s"
"""How long a recorder's statement waits for a lock, unless the role has a `lock_timeout` of its own."""
SPOOL_LOCK_TIMEOUT = "5s"
"""The same where what the database does not take goes to a file."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# So many columns, and `known`, has a step that begins without an outcome and whose input is whole.
_PLAIN: Final = 11
_START = Prepared(
    "start_step", (*Start._fields[:_PLAIN], "known", "now"), (*START_KINDS[:_PLAIN], INT8, BOOL)
)
_FINISH = Prepared("finish_step", (*Finish._fields[:-1], "lazily", "now"), (*FINISH_KINDS[:-1], BOOL, BOOL))


def prepare(connection: Connection[Any], *, durable: bool, lock_timeout: str = LOCK_TIMEOUT) -> None:
    """Make `connection`, which is in autocommit, a recorder's; also where it leads to a pooler.

    `lock_timeout` is how long a statement waits for a lock, where the role has no limit of its own.
    Raises DatabaseError where the tables are not there, or not as they have to be.
    """
    connection.prepare_threshold = (
        None  # psycopg would forget all prepared statements at times, those below too
    )
    check_columns(connection)
    row = connection.execute(query("read_recording_schema")).fetchone()
    assert row is not None
    there, user, database, path, backend, may_ask = row
    if not there:
        raise DatabaseError(
            f"no table agent_runs in database {database} as {user} (search_path: {path}), or an older one;"
            " create it: stepwell init"
        )
    if may_ask:
        learn_origin(connection)
    if backend != connection.info.backend_pid:  # a pooler gave a number of its own
        send_whole(connection, (durable, lock_timeout))
        return
    connection.execute(query("prepare_writer"), {"durable": durable, "lock_timeout": lock_timeout})
    for statement in (_START, _FINISH, WRITE_STEPS):
        statement.prepare(connection)


def start_step(connection: Connection[Any], row: Start, sent: Callable[[], None] | None = None) -> int | None:
    """Begin one step. Returns its number, None where it was not written."""
    if row.output is not None or row.input_base is not None or row.seen:
        return write_steps(connection, [], [row], sent)[1][0]
    result = _START.run(connection, (*row[:_PLAIN], row.known, row.seen is None), sent)
    return _int(result.get_value(0, 1)) if result.ntuples else None


def finish_step(
    connection: Connection[Any], row: Finish, sent: Callable[[], None] | None = None, *, lazily: bool = False
) -> bool:
    """Give one step its outcome. Returns whether it had none yet; one that has its outcome already keeps it.

    `lazily`: without waiting for the server's disk.
    """
    if row.seen:
        with suppress(DivisionByZero):  # it has its outcome already, or is not there
            return write_steps(connection, [row], [], sent, lazily=lazily)[0][0]
        return False
    return _FINISH.run(connection, (*row[:-1], lazily, row.seen is None), sent).ntuples == 1


def write_steps(
    connection: Connection[Any],
    finishes: Sequence[Finish],
    starts: Sequence[Start],
    sent: Callable[[], None] | None = None,
    *,
    lazily: bool = False,
) -> tuple[list[bool], list[int | None]]:
    """Finish and begin steps, all in one commit, `lazily` without waiting for the server's disk.

    Returns for each what `finish_step` and `start_step` do.
    Where a run has more steps than one of its rows says in `known`, none of the run's are written. `sent` is called
    when they are on their way, before the wait. Raises what psycopg raises, with nothing written: that is
    DivisionByZero where a step is not there to be finished, and then they have to be written one by one.
    """
    batch = Batch(finishes, starts)
    return batch.outcome(WRITE_STEPS.run(connection, (*batch.columns, lazily), sent))


def open_run(connection: Connection[Any], opened: Opened) -> None:
    """Begin a run. Sent again, it begins no second one."""
    run_id = opened.run_id
    row = {**opened._asdict(), "started_at": moment(opened.started_at)}
    _execute(connection, "open_run", {**row, **columns_of(connection), "key": _key(connection, run_id)})


def resume_run(connection: Connection[Any], run_id: UUID) -> Resumed | None:
    """Take up a run. None for no such run."""
    given = {"run_id": run_id, "key": _key(connection, run_id), **columns_of(connection)}
    row = _execute(connection, "resume_run", given).fetchone()
    return None if row is None else Resumed(*row[: len(Resumed._fields)])


def read_calls(connection: Connection[Any], run_id: UUID) -> list[tuple[str | None, int, str | None, int]]:
    """Agent, number, name and hash of the last finished tool calls of a run, in the order in which they finished.

    Of a branch also those that it has from the run that it leaves.
    """
    statement = steps_query("read_calls", resolved(connection, run_id))
    return _send(connection, statement, {"run_id": run_id}).fetchall()


def end_run(connection: Connection[Any], ended: Ended) -> bool:
    """End a run. Returns whether it is there."""
    row = {**ended._asdict(), "finished_at": moment(ended.finished_at), "key": _key(connection, ended.run_id)}
    return _execute(connection, "end_run", row).fetchone() is not None


def hold_runs(connection: Connection[Any], run_ids: Iterable[UUID]) -> None:
    """Show that the recorder of these runs lives: by their locks, on a connection that can hold some."""
    ids = list(run_ids)
    if ids and is_pooled(connection):
        _execute(connection, "touch_runs", {"run_ids": ids})
    elif ids:
        _execute(connection, "hold_runs", {"keys": [_key(connection, run_id) for run_id in ids]})


def await_runs(connection: Connection[Any], run_ids: Iterable[UUID]) -> int:
    """Wait until what is under way for these runs, over other connections, has been committed or not.

    In a transaction nobody else writes to them until it has ended. Returns how many of them there are.
    """
    row = _execute(connection, "lock_runs", {"run_ids": list(run_ids)}).fetchone()
    return 0 if row is None else row[0]


def pass_over(connection: Connection[Any], last: Mapping[UUID, int]) -> list[tuple[UUID, int]]:
    """Let no run give a number again that it gave up to `last`, though a server that has failed took them with it.

    Returns the runs of which steps are missing, and the last one that is there.
    """
    if not last:
        return []
    row = {"run_ids": list(last), "last": [Int8(number) for number in last.values()]}
    return _execute(connection, "pass_over_steps", row).fetchall()


def release_run(connection: Connection[Any], run_id: UUID) -> None:
    """Let go of the lock of a run that has ended otherwise, on a connection that holds it."""
    if not is_pooled(connection):
        connection.execute(query("release_run"), {"key": Int8(lock_key(run_id))})


def end_backend(connection: Connection[Any], pid: int) -> None:
    """Make sure that the session of a lost connection has ended, so that what it committed can be told."""
    connection.execute(query("end_backend"), {"pid": pid}, prepare=False)


def find_started(connection: Connection[Any], row: Start, after: int) -> list[int]:
    """Numbers beyond `after` of steps that are the same as `row` to the microsecond and the last byte."""
    given = {**row._asdict(), "after": after, "started_at": moment(row.started_at)}
    return [number for (number,) in connection.execute(query("find_started_step"), given, prepare=False)]


def _key(connection: Connection[Any], run_id: UUID) -> Int8 | None:
    """The lock of a run; None where the next transaction may be at another session."""
    return None if is_pooled(connection) else Int8(lock_key(run_id))


def _execute(connection: Connection[Any], name: str, row: dict[str, Any]) -> Cursor[Any]:
    return _send(connection, query(name), row)


def _send(connection: Connection[Any], statement: bytes, row: dict[str, Any]) -> Cursor[Any]:
    """One statement in one round trip, with the settings that the connection wants for each transaction."""
    settings = transient.get(connection)
    if not settings:
        return connection.execute(statement, row)
    with connection.pipeline():
        connection.execute(query("set_transaction"), dict(zip(SETTINGS, settings, strict=True)))
        return connection.execute(statement, row)


def _columns(
    rows: Sequence[Start] | Sequence[Finish], of: type[Start] | type[Finish]
) -> Iterable[Sequence[Any]]:
    return zip(*rows, strict=True) if rows else [()] * len(of._fields)


def _int(data: bytes | None) -> int:
    assert data is not None
    return int.from_bytes(data, "big")


def moment(microseconds: int) -> datetime:
    """A time as psycopg takes it, of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)
