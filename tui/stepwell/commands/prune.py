"""`stepwell prune`: delete whole runs that are not worth keeping, or that are old, and what then nobody asks for."""

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import Connection

from stepwell.app.listing import short_ids
from stepwell.app.present.figures import age as age_of
from stepwell.app.present.figures import count as figure
from stepwell.commands.output import LONGEST, Column, emit, line, note, table
from stepwell.commands.session import target_of
from stepwell.core.names import command_name
from stepwell.errors import StepwellError
from stepwell.store import pruning, pruning_logs
from stepwell.store.connect import Target, connect
from stepwell.store.pruning import Prunable, Pruned

WRONG, INTERRUPTED = 2, 130
MOST_SHOWN = 20
COLUMNS = (Column("RUN"), Column("NAME", elastic=True, most=LONGEST), Column("WHY"))
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
JSON_HELP = """\
Without --older-than: the runs that Recorder(keep=...) found not worth keeping.
With it: all runs that ended or died so long ago, whatever their mark. Never a
run that is alive, nor one that was written by hand (nobody knows whether it
has ended), nor one that a branch which stays has its first steps from. At most
100 runs or 10,000 steps are deleted in one transaction; a longer run has one of
its own.

Then the logs of watched tables: what was removed from a table before the oldest
run that is left began. Steps that ask for more read "pruned" from then on.

exit status: 0 done, also where there was nothing to delete; 2 refused; 130
interrupted with Ctrl-C. What was deleted before stays deleted.

with --json, one object: {"database", "runs", "steps", "log_entries", "dry_run",
"interrupted"}: how many are deleted, or would be; with --dry-run also
"run_ids", those of all these runs, oldest first
"""


@dataclass
class Gone:
    """What was deleted so far, or would be."""

    runs: Pruned = field(default_factory=Pruned)
    entries: int = 0
    """Of the logs of watched tables."""

    def __bool__(self) -> bool:
        return bool(self.runs.runs or self.entries)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than",
        type=age,
        metavar="AGE",
        help="all that ended or died so long ago: 30d, 12h, 90m, 8w",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be deleted, with the 20 oldest runs"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")


def age(text: str) -> timedelta:
    """A time span for argparse. Raises ArgumentTypeError."""
    found = re.fullmatch(r"([0-9]{1,6})([mhdw])", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no age; 30d is thirty days, and there are m, h and w")
    if int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no age: the least is 1m, a minute")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def run(args: argparse.Namespace) -> int:
    """Delete, and say how much; 130 where it was interrupted. Raises DatabaseError."""
    target = target_of(args)
    with closing(connect(target)) as connection:
        if args.dry_run:
            return _dry_run(args, target, connection)
        gone = Gone()
        try:
            _prune(connection, args.older_than, gone)
        except KeyboardInterrupt:  # between two batches or within one, which is rolled back then
            return _tell(args, target, gone, interrupted=True)
        except (StepwellError, psycopg.Error):  # what is gone by then is told first
            if gone:
                note(f"deleted before that: {_words(gone)}")
            raise
        status = _tell(args, target, gone)
        for schema, name in pruning_logs.not_allowed(connection):
            status = WRONG
            note(_stays(schema, name))
        return status


def _dry_run(args: argparse.Namespace, target: Target, connection: Connection[Any]) -> int:
    """Say what would go, and what of it this role may not delete."""
    would, runs = pruning.prunable(connection, args.older_than)
    logs = pruning_logs.prunable_logs(connection, [run.run_id for run in runs])
    if not args.json:
        _list(runs[:MOST_SHOWN], would.runs, args.older_than)
    status = _tell(args, target, Gone(would, sum(log.entries for log in logs)), runs)
    if not pruning.may_prune(connection):
        note("this role may not delete runs; that takes the role stepwell_pruner (see sql/roles.sql)")
    for schema, name in pruning_logs.not_allowed(connection):
        note(_stays(schema, name))
    return status


def _stays(schema: str, name: str) -> str:
    return (
        f"the log of {schema}.{name} stays as it is, for this role may not prune it: after sql/roles.sql,"
        f" have its owner run stepwell watch {command_name(schema, name)} again"
    )


def _prune(connection: Connection[Any], older: timedelta | None, gone: Gone) -> None:
    """Runs first: what they asked for in the logs is asked for by none then. Counts in `gone`."""
    for pruned in pruning.prune(connection, older):
        gone.runs += pruned
    for log in pruning_logs.prune_logs(connection):
        gone.entries += log.entries


def _tell(
    args: argparse.Namespace,
    target: Target,
    gone: Gone,
    would: Sequence[Prunable] = (),
    *,
    interrupted: bool = False,
) -> int:
    if args.json:
        told = {
            "database": target.describe(),
            "runs": gone.runs.runs,
            "steps": gone.runs.steps,
            "log_entries": gone.entries,
            "dry_run": args.dry_run,
            "interrupted": interrupted,
        }
        emit({**told, "run_ids": [run.run_id for run in would]} if args.dry_run else told)
    else:
        did = "would delete" if args.dry_run else "interrupted; deleted" if interrupted else "deleted"
        line(f"{target.describe()}: {did} {_words(gone) if gone else 'nothing'}")
    return INTERRUPTED if interrupted else 0


def _list(runs: Sequence[Prunable], total: int, older: timedelta | None) -> None:
    if runs:
        for text in table(COLUMNS, _rows(runs, older, datetime.now(UTC))):
            line(text)
    if len(runs) < total:
        line(f"and {figure(total - len(runs))} more")


def _rows(runs: Sequence[Prunable], older: timedelta | None, now: datetime) -> Iterator[list[str]]:
    """Cells for `COLUMNS`, not yet cleaned."""
    ids = short_ids(run.run_id for run in runs)
    for run in runs:
        ended = "died" if run.status == "running" else run.status
        why = "not worth keeping" if older is None else f"{ended}, {age_of(run.seen, now)} ago"
        yield [ids[run.run_id], run.name or "", why]


def _words(gone: Gone) -> str:
    return " and ".join(_counted(gone))


def _counted(gone: Gone) -> Iterator[str]:
    if (done := gone.runs).runs:
        runs = "1 run" if done.runs == 1 else f"{figure(done.runs)} runs"
        yield f"{runs} with {'1 step' if done.steps == 1 else f'{figure(done.steps)} steps'}"
    if gone.entries:
        yield "1 log entry" if gone.entries == 1 else f"{figure(gone.entries)} log entries"
