"""`stepwell prune`: delete whole runs that are not worth keeping, or that are old."""

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta

from stepwell.app.listing import short_ids
from stepwell.app.present.figures import age as age_of
from stepwell.app.present.figures import count as figure
from stepwell.commands.output import LONGEST, Column, emit, line, note, table
from stepwell.commands.session import target_of
from stepwell.store import pruning
from stepwell.store.connect import Target, connect
from stepwell.store.pruning import Prunable, Pruned

INTERRUPTED = 130
MOST_SHOWN = 20
COLUMNS = (Column("RUN"), Column("NAME", elastic=True, most=LONGEST), Column("WHY"))
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
JSON_HELP = """\
Without --older-than: the runs that Recorder(keep=...) found not worth keeping.
With it: all runs that ended or died so long ago, whatever their mark. Never a
run that is alive, nor one of which nobody knows how it ended. At most 100 runs
or 10,000 steps are deleted in one transaction; a longer run has one of its own.

exit status: 0 done, also where there was nothing to delete; 2 refused; 130
interrupted with Ctrl-C. What was deleted before stays deleted.

with --json, one object: {"database", "runs", "steps", "dry_run",
"interrupted"}: how many are deleted, or would be; with --dry-run also
"run_ids", those of all these runs, oldest first
"""


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
            would, runs = pruning.prunable(
                connection, args.older_than, limit=None if args.json else MOST_SHOWN
            )
            if not args.json:
                _list(runs, would.runs, args.older_than)
            return _tell(args, target, would, runs)
        done = Pruned()
        try:
            for pruned in pruning.prune(connection, args.older_than):
                done += pruned
        except KeyboardInterrupt:  # between two batches or within one, which is rolled back then
            return _tell(args, target, done, interrupted=True)
        except Exception:  # whatever stops it, what is gone by then is told first
            if done.runs:
                note(f"deleted before that: {_words(done)}")
            raise
        return _tell(args, target, done)


def _tell(
    args: argparse.Namespace,
    target: Target,
    done: Pruned,
    would: Sequence[Prunable] = (),
    *,
    interrupted: bool = False,
) -> int:
    if args.json:
        told = {
            "database": target.describe(),
            "runs": done.runs,
            "steps": done.steps,
            "dry_run": args.dry_run,
            "interrupted": interrupted,
        }
        emit({**told, "run_ids": [run.run_id for run in would]} if args.dry_run else told)
    else:
        did = "would delete" if args.dry_run else "interrupted; deleted" if interrupted else "deleted"
        line(f"{target.describe()}: {did} {_words(done) if done.runs else 'nothing'}")
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


def _words(done: Pruned) -> str:
    runs = "1 run" if done.runs == 1 else f"{figure(done.runs)} runs"
    return f"{runs} with {'1 step' if done.steps == 1 else f'{figure(done.steps)} steps'}"
