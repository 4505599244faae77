"""SQL at a step: a statement of the user's own, run in a snapshot in which watched tables are as they were then."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

import psycopg

from stepwell.core.names import sql_name
from stepwell.core.past import Answer, Certainty, Instant, Rows, Seen, Table
from stepwell.core.sql_clock import asked_for
from stepwell.core.statements import Statement, parse
from stepwell.core.tokens import name_at
from stepwell.core.world import Moment
from stepwell.errors import StatementError
from stepwell.replay.reports import replay_of
from stepwell.store import asking
from stepwell.store.asof import Survey, judge_again, survey, turn
from stepwell.store.branches import Whereabouts
from stepwell.store.connect import Target
from stepwell.store.instants import read_instants
from stepwell.store.plan import OPAQUE, past_name, read_seen
from stepwell.store.reader import Reader

UNDEFINED_TABLE = "42P01"
Found = tuple[Rows, tuple[Seen, ...], tuple[Table, ...], Instant | None]


class Asking:
    """Runs statements at the steps of one run, each over a connection of its own that is closed after it.

    So whatever a statement may leave behind in a session, there is nobody who could find it. Not for several threads
    at once, except `cancel`.
    """

    def __init__(self, target: Target, run_id: UUID, clock: Callable[[], float] = time.perf_counter) -> None:
        self._steps = Whereabouts(run_id)
        self._reader = Reader(target, guarded=True)
        self._clock = clock

    def query(self, number: int, moment: Moment, text: str, limit: int | None) -> Answer:
        """The answer, of at most `limit` rows. Rolled back before it returns.

        Raises StatementError for what is not sent or what the database refuses, NotFoundError for no such step, and
        DatabaseError where the database cannot be read.
        """
        statement = parse(text)
        started = self._clock()
        try:
            (rows, seen, tables, instant), report = self._reader.read(
                lambda c: _ask(c, self._steps.of(c), number, moment, statement, limit)
            )
            caution = _caution(self._reader.caution, seen, statement)
        finally:
            self._reader.close()
        replay = replay_of(report, self._clock() - started)
        return Answer(rows, seen, tables, replay, instant, caution)

    def cancel(self) -> None:
        """Stop what is running, from another thread; `query` then raises DatabaseError."""
        self._reader.cancel()

    def close(self) -> None:
        self._reader.close()


def _ask(
    connection: psycopg.Connection,
    run_id: UUID,
    number: int,
    moment: Moment,
    statement: Statement,
    limit: int | None,
) -> Found:
    instants = read_instants(connection, run_id, number)
    instant = instants.at(moment)
    found = survey(connection, instant, instants.origin)
    turn(connection, found)
    asking.pin(connection, limit)
    try:
        seen = read_seen(connection, statement, found.tables)
        rows = asking.run(connection, statement, limit)
    except StatementError as problem:
        if more := _why_not_found(problem, statement, found):
            raise problem.going_on(more) from problem
        raise
    tables = judge_again(connection, found)
    return rows, tuple(_judged(each, tables) for each in seen), tables, instant


def _why_not_found(problem: StatementError, statement: Statement, found: Survey) -> str:
    """Why the name of a table that is watched outside of the search path means nothing here; else empty."""
    if problem.sqlstate != UNDEFINED_TABLE or problem.position is None:
        return ""
    name = name_at(statement.text, problem.position)
    beyond = [table for table in found.tables if table.name == name and table.schema not in found.path]
    names = [sql_name(table.schema, table.name) for table in beyond]
    if len(beyond) > 1:
        said = f"{' and '.join(names)} are watched, so a schema is needed, and reads today's rows"
        return f"{said}; put one of their schemas into the search_path for those of then"
    if not beyond:
        return ""
    said = (
        f"{names[0]} is watched, and as of this step {beyond[0].verdict.certainty}: {beyond[0].verdict.why}"
    )
    return f"{said}; {names[0]}, with its schema, reads today's rows"


def _judged(seen: Seen, tables: Sequence[Table]) -> Seen:
    """With the verdict after the reading. A table whose past is unknown only since then has to be read once more."""
    if seen.verdict is None:
        return seen
    worth = next((table.verdict for table in tables if past_name(table, tables) == seen.name), seen.verdict)
    if Certainty.UNKNOWN is worth.certainty is not seen.verdict.certainty:
        raise psycopg.errors.SerializationFailure(f"{seen.name}: {worth.why}")
    return replace(seen, verdict=worth)


def _caution(role: str, seen: Sequence[Seen], statement: Statement) -> str:
    """With what a statement is told of today, and the functions of which only the role bounds what they do."""
    asked = asked_for(statement.text)
    times = asked and f"{', '.join(asked)}: the time of today, not that of the step"
    unknown = [relation.name for relation in seen if relation.how == OPAQUE]
    calls = (
        unknown and f"calls {', '.join(unknown)}, which may do what the role may, beyond the transaction too"
    )
    return "; ".join(part for part in (times, calls, role) if part)
