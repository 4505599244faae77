"""Runs from files into the tables: the runs of a file all at once or not at all, and each only once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import psycopg

from stepwell.core import codec
from stepwell.core.laps import find_loops
from stepwell.core.loops import LOOPING_LAPS
from stepwell.core.recording import Failure, ImportedRun, ImportedStep, storable
from stepwell.core.spooling import Spooled
from stepwell.core.steps import TOOL_CALL, Loop, StepHead
from stepwell.core.world import MISSING
from stepwell.errors import DatabaseError
from stepwell.store import writing
from stepwell.store.queries import query
from stepwell.store.reading import has_runs_table
from stepwell.store.spooled import continue_run


@dataclass(slots=True)
class Imported:
    """What became of the runs of one file."""

    new: list[UUID] = field(default_factory=list)
    there: list[UUID] = field(default_factory=list)
    """Imported before, and left as they were."""
    steps: int = 0
    """Steps of the new runs."""
    refused: dict[int, str] = field(default_factory=dict)
    """Lines that the server does not take, and its words."""


def import_runs(
    connection: psycopg.Connection,
    runs: Sequence[tuple[UUID, ImportedRun]],
    *,
    source: str,
    at: datetime,
    on_step: Callable[[], None] = lambda: None,
) -> Imported:
    """Store the runs in one transaction of their own; those that are there already stay untouched.

    `source` is the format's name. `at`, the time of the import, stands where a column needs a time and the
    file has none. `on_step` is called after each step. Raises DatabaseError, with nothing stored, where the
    schema or the right is missing or the server takes a value for too large, and EncodingError.
    """
    done = Imported()
    with explained(connection), connection.transaction():
        for run_id, run in runs:
            _import_run(connection, run_id, run, source, at, done, on_step)
    return done


def import_spooled(
    connection: psycopg.Connection, spooled: Spooled, on_step: Callable[[], None] = lambda: None
) -> Imported:
    """Go on with the run that a recorder put into a file; doing it again changes nothing.

    Raises DatabaseError like `import_runs`, NotFoundError where the run is not in this database and did not begin in
    the file, and InvalidFileError.
    """
    with explained(connection):
        writing.prepare(connection, durable=True)
        went_on = continue_run(connection, spooled, on_step)
    of = [spooled.run_id]
    changed = Imported(new=of, steps=went_on.begun) if went_on.changed else Imported(there=of)
    return replace(changed, refused=went_on.refused)


@contextmanager
def explained(connection: psycopg.Connection) -> Iterator[None]:
    """Raises DatabaseError for what goes wrong."""
    if not has_runs_table(connection):
        raise DatabaseError(f"no table agent_runs in {connection.info.dbname}; create it: stepwell init")
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as problem:
        raise DatabaseError(
            f"{connection.info.user} may not import here ({_primary(problem)}); GRANT it stepwell_recorder"
        ) from problem
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as problem:
        raise DatabaseError(f"the schema is too old ({_primary(problem)}); run: stepwell init") from problem
    except psycopg.Error as problem:
        raise DatabaseError(f"nothing was imported: {_primary(problem)}") from problem


def _primary(problem: psycopg.Error) -> str:
    return problem.diag.message_primary or (str(problem).splitlines() or [type(problem).__name__])[0]


def _import_run(
    connection: psycopg.Connection,
    run_id: UUID,
    run: ImportedRun,
    source: str,
    at: datetime,
    done: Imported,
    on_step: Callable[[], None],
) -> None:
    row = _run_row(run_id, run, at) | {"source": source}
    if connection.execute(query("insert_imported_run"), row).fetchone() is None:
        done.there.append(run_id)
        for _ in run.steps:
            on_step()
        return
    hashes: dict[int, int | None] = {}
    name = str(run_id)
    with connection.cursor() as cursor, cursor.copy(query("copy_imported_steps")) as copy:
        for step in run.steps:  # the server is at work on those before
            line, hashes[step.number] = _step_row(name, step, at)
            copy.write_row(line)
            on_step()
    if (loop := worst_loop(run, hashes)) is not None:
        connection.execute(query("set_imported_loop"), {"run_id": run_id, "loop": _loop(loop)})
    done.new.append(run_id)
    done.steps += len(run.steps)


def _run_row(run_id: UUID, run: ImportedRun, at: datetime) -> dict[str, object]:
    return {
        "run_id": run_id,
        "name": _text(run.name),
        "status": run.status,
        "tags": codec.encode(dict(run.tags)).plain if run.tags else None,
        "steps": len(run.steps),
        "finished": run.finished_steps,
        "agents": [storable(agent) for agent in run.agents],
        "started_at": run.started or at,
        "finished_at": run.finished if run.started else None,
        "error": _failure(run.error),
    }


def _step_row(run_id: str, step: ImportedStep, at: datetime) -> tuple[tuple[object, ...], int | None]:
    """The row of a step; and of a finished tool call the hash, equal for the same name, arguments and result."""
    name, hash_ = _text(step.name), None
    gave, gave_exact = _encoded(step.output)
    if step.type != TOOL_CALL or step.finished_order is None or step.input is MISSING:
        given, given_exact = _encoded(step.input)
    else:
        encoded, asked = codec.encode_and_canonical(step.input)
        given, given_exact = encoded.plain, encoded.exact
        hash_ = codec.digest(f"{name!a} {asked} {gave} {gave_exact}")
    row = (
        run_id, step.number, step.type, given, gave, step.started or step.finished or at, step.seed,
        _text(step.agent), name, step.parent, step.started, step.finished, step.finished_order,
        step.finished_before, step.started_before, _failure(step.error), given_exact, gave_exact,
        step.tokens_in, step.tokens_out, _text(step.finish_reason), hash_,
    )  # fmt: skip
    return row, hash_


def _encoded(value: object) -> tuple[str | None, str | None]:
    if value is MISSING:
        return None, None
    encoded = codec.encode(value)
    return encoded.plain, encoded.exact


def _text(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _failure(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return codec.dump({"type": storable(failure.type), "message": storable(failure.message)})


def worst_loop(run: ImportedRun, hashes: dict[int, int | None]) -> Loop | None:
    """The loop with most laps, None where no cycle of calls came often enough to be called one."""
    heads = [
        StepHead(step.number, step.type, agent=step.agent, name=step.name, call_hash=hashes[step.number])
        for step in run.steps
    ]
    return max(
        (loop for loop in find_loops(heads) if loop.laps >= LOOPING_LAPS),
        key=lambda loop: loop.laps,
        default=None,
    )


def _loop(loop: Loop) -> str:
    fields = ("first", "last", "period", "laps")
    return codec.dump({"name": storable(loop.name), **{name: getattr(loop, name) for name in fields}})
