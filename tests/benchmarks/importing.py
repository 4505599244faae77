"""What an import costs: against a bare COPY of the very rows that it makes."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg

from stepwell.core.recording import ImportedRun, ImportedStep
from stepwell.core.steps import LLM_CALL, TOOL_CALL
from stepwell.store.importing import import_runs
from stepwell.store.queries import query
from tests.benchmarks.harness import Table, in_turns, ratio
from tests.benchmarks.recording import LARGE

AT = datetime(2024, 5, 1, 12, tzinfo=UTC)
LINES = "\n".join(f"orders/{n}: lamp, paid, delivered in time, no complaint" for n in range(25))
KINDS: dict[str, tuple[str, dict[str, object], object]] = {
    "a tool call that tells a number": (TOOL_CALL, {"limit": 5, "text": "broken lamp"}, 8841),
    "a tool call that prints 1.3 KB": (TOOL_CALL, {"limit": 5, "text": "broken lamp"}, LINES),
    "a tool call that gives 50 rows": (TOOL_CALL, {"text": LARGE.text(0)}, LARGE.result),
    "a model call with a prompt of 10 KB": (
        LLM_CALL,
        {"model": "m", "messages": [{"role": "user", "content": LINES}] * 8},
        {"role": "assistant", "content": LINES},
    ),
}
"""The input of each step has its number too."""


def imports(dsn: str, *, quick: bool) -> Table:
    """Runs of tool calls from a file that has been read, in one transaction as each file is."""
    steps, rounds = (20, 1) if quick else (5_000, 5)
    table = Table(
        f"Importing a run of {steps:,} steps",
        ["each", "bytes in COPY", "COPY, steps/s", "import, steps/s", "import to COPY"],
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name, kind in KINDS.items():
            table.rows.append([name, *_figures(connection, _run(*kind, steps), rounds)])
    return table


def _run(kind: str, given: dict[str, object], result: object, steps: int) -> ImportedRun:
    return ImportedRun(
        tuple(
            ImportedStep(
                number,
                kind,
                given | {"seed": number},
                result,
                name="search_orders",
                started=AT + timedelta(seconds=number),
                finished=AT + timedelta(seconds=number + 1),
                finished_order=number,
                finished_before=number - 1,
                started_before=number,
            )
            for number in range(1, steps + 1)
        ),
        name="bench",
        status="ok",
    )


def _figures(connection: psycopg.Connection, run: ImportedRun, rounds: int) -> list[str]:
    first = uuid4()
    _import(connection, first, run)
    data = _read(connection, first)
    times = in_turns(
        {"COPY": lambda: _copy(connection, data, first), "import": lambda: _import(connection, uuid4(), run)},
        rounds,
    )
    count = len(run.steps)
    rates = [f"{count / taken * 1000:,.0f}" for taken in times.values()]
    return [f"{len(data) / count:,.0f}", *rates, ratio(times["COPY"], times["import"])]


def _import(connection: psycopg.Connection, run_id: UUID, run: ImportedRun) -> None:
    import_runs(connection, [(run_id, run)], source="bench", at=AT)


def _read(connection: psycopg.Connection, run_id: UUID) -> bytes:
    """The rows of a run as COPY writes and reads them."""
    columns = query("copy_imported_steps").split(b"(", 1)[1].split(b")", 1)[0]
    rows = b"SELECT %s FROM agent_steps WHERE run_id = '%s'" % (columns, str(run_id).encode())
    with connection.cursor() as cursor, cursor.copy(b"COPY (%s) TO STDOUT" % rows) as copy:
        return b"".join(map(bytes, copy))


def _copy(connection: psycopg.Connection, data: bytes, run_id: UUID) -> None:
    """Put the rows into the table once more, as those of another run."""
    fresh = data.replace(str(run_id).encode(), str(uuid4()).encode())
    with connection.cursor() as cursor, cursor.copy(query("copy_imported_steps")) as copy:
        copy.write(fresh)
