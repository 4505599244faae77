"""`stepwell init`: create the tables, or bring them to the newest version."""

import argparse
from contextlib import closing

from stepwell.commands.output import emit, line, note
from stepwell.store.connect import connect, resolve
from stepwell.store.migrate import adopt_runs, migrate_on

JSON_HELP = """\
with --json, one object: {"database", "applied", "adopted"}: versions of the
schema, and how many runs of which only steps were there are listed from now on
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Migrate and adopt, and say what was done. Raises DatabaseError."""
    target = resolve(args.dsn)
    if target.notice:
        note(target.notice)
    with closing(connect(target)) as connection:
        applied = migrate_on(connection)
        adopted = adopt_runs(connection)
    if args.json:
        emit({"database": target.describe(), "applied": applied, "adopted": adopted})
        return 0
    done = []
    if applied:
        done.append(f"applied {', '.join(map(str, applied))}")
    if adopted:
        done.append(f"listed {adopted} run{'s' if adopted > 1 else ''} of which only steps were there")
    line(f"{target.describe()}: {'; '.join(done) or 'nothing to do'}")
    return 0
