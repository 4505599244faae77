"""`stepwell unwatch TABLE…`: take out all that watching a table has made, its past too."""

import argparse
from contextlib import closing

from stepwell.commands.output import emit, line, note
from stepwell.commands.session import target_of
from stepwell.errors import StepwellError
from stepwell.store import watching
from stepwell.store.connect import connect

JSON_HELP = """\
Its triggers, its log and its view go, and with the last table all that watching
has made in the database, but for roles. What was recorded of its past is gone.
A table that was dropped goes by the name that it had.

exit status: 0 done, for all of them; 1 a table is not watched; 2 one is refused

with --json, one object a table: {"table", "schema", "name", "error"}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tables", nargs="+", metavar="TABLE", help="as SQL names it, or named it")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Take out each, and tell of each. Raises DatabaseError where there is no connection."""
    status = 0
    with closing(connect(target_of(args))) as connection:
        for table in args.tables:
            schema = name = error = None
            try:
                schema, name = watching.unwatch(connection, table)
            except StepwellError as problem:
                error = str(problem)
                status = max(status, problem.exit_status)
            if args.json:
                emit({"table": table, "schema": schema, "name": name, "error": error})
            elif error is None:
                line(f"{schema}.{name} is not watched any more; nothing of it is left")
            else:
                note(f"stepwell: {error}")
    return status
