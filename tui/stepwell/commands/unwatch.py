"""`stepwell unwatch TABLE…`: take out all that watching a table has made, its past too."""

import argparse
from contextlib import closing

from stepwell.app.present.figures import count
from stepwell.commands.output import emit, line, note
from stepwell.commands.session import target_of
from stepwell.errors import StepwellError
from stepwell.store import watching
from stepwell.store.connect import connect
from stepwell.store.watching import Unwatched

JSON_HELP = """\
Its triggers, its log and its view go, and with the last table all that watching
has made in the database, but for roles. What was recorded of its past is gone.
A table that was dropped goes by the name that it had.

exit status: 0 done, for all of them; 1 a table is not watched; 2 one is refused

with --json, one object a table: {"table", "schema", "name", "entries",
"error"}; entries is how many its log had, of a large one about
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tables", nargs="+", metavar="TABLE", help="as SQL names it, or named it")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Take out each, and tell of each. Raises DatabaseError where there is no connection."""
    status = 0
    with closing(connect(target_of(args))) as connection:
        for table in args.tables:
            done = error = None
            try:
                done = watching.unwatch(connection, table)
            except StepwellError as problem:
                error = str(problem)
                status = max(status, problem.exit_status)
            if args.json:
                emit(as_json(table, done, error))
            elif done is not None:
                line(f"{done.schema}.{done.name} is not watched any more; {_past(done)}")
            else:
                note(f"stepwell: {error}")
    return status


def as_json(table: str, done: Unwatched | None, error: str | None) -> dict[str, object]:
    """The documented shape of what became of a table."""
    return {
        "table": table,
        "schema": done and done.schema,
        "name": done and done.name,
        "entries": done and done.entries,
        "error": error,
    }


def _past(done: Unwatched) -> str:
    if not done.entries:
        return f"its {'log was empty' if done.counted else 'past went with it'}; nothing of it is left"
    about = "" if done.counted else "about "
    entries = "1 entry" if done.entries == 1 else f"{count(done.entries)} entries"
    return f"{about}{entries} of its past went with it; nothing is left"
