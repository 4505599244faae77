"""`stepwell runs`: the runs, newest first."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime

from stepwell.app.listing import short_ids
from stepwell.app.present.figures import age, duration
from stepwell.commands.output import LONGEST, Column, emit, line, note, table
from stepwell.commands.session import target_of
from stepwell.commands.words import why
from stepwell.core.steps import RunHead
from stepwell.replay.runs import Runs

PAGE = 1000
COLUMNS = (
    Column("STATUS"),
    Column("NAME", elastic=True, most=LONGEST),
    Column("RUN"),
    Column("STEPS", right=True),
    Column("TOOK", right=True),
    Column("STARTED"),
    Column("WHY", elastic=True),
)
JSON_HELP = """\
with --json, one object a line:
  run_id               the whole id
  status               running, died, ok, failed, or unknown where only steps
                       are recorded, and of a branch that ends where it is
                       not known how the run goes on
  name, tags, source, agents, error
                       as recorded, null or empty where they are not
  parent, forked_at    of a branch: the run that it leaves and the step at which
                       it does, its first own; or null
  steps, unfinished    how many have begun, and how many of these have no end
  in_doubt             {"step", "name"} of the newest step that a recorder began
                       and never saw the end of, or null
  loop                 {"name", "first", "last", "period", "laps"} of the
                       longest loop of tool calls, or null
  started, finished    ISO 8601 times or null
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text", nargs="?", default="", metavar="TEXT", help="only runs with this in their name or id"
    )
    parser.add_argument("--failed", action="store_true", help="only runs that failed or died")
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="at most N runs (default 20)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def positive(text: str) -> int:
    """A count for argparse. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:20]) < 10**12:
        raise argparse.ArgumentTypeError(f"{text!r} is no count from 1 on")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Print the list. 1 where no run is there or none matches."""
    found = _pages(args)
    if args.json:
        count = 0
        for count, head in enumerate(found, 1):  # noqa: B007 - counted for the status
            emit(as_json(head))
        return 0 if count else 1
    heads = list(found)
    if not heads:
        note("no such run" if args.text or args.failed else "no run is recorded here")
        return 1
    for text in table(COLUMNS, rows(heads, datetime.now(UTC))):
        line(text)
    return 0


def _pages(args: argparse.Namespace) -> Iterator[RunHead]:
    with closing(Runs(target_of(args))) as runs:
        left, last = args.limit, None
        while left:
            page = runs.page(min(left, PAGE), after=last, text=args.text, failed=args.failed)
            yield from page
            if len(page) < min(left, PAGE):
                return
            left -= len(page)
            last = page[-1]


def rows(heads: Sequence[RunHead], now: datetime) -> Iterator[list[str]]:
    """Cells for `COLUMNS`, not yet cleaned."""
    ids = short_ids(head.run_id for head in heads)
    for head in heads:
        end = now if head.status == "running" else head.finished
        took = end - head.started if head.started and end else None
        yield [
            "branch" if head.parent is not None and head.status == "unknown" else head.status,
            head.name or "",
            ids[head.run_id],
            f"{head.steps}+" if head.status == "running" else str(head.steps),
            duration(took),
            age(head.started, now),
            why(head),
        ]


def as_json(head: RunHead) -> dict[str, object]:
    """The documented shape of a run."""
    doubt = {"step": head.unfinished_number, "name": head.unfinished_name} if head.in_doubt else None
    loop = head.loop
    return {
        "run_id": head.run_id,
        "status": head.status,
        "name": head.name,
        "tags": head.tags,
        "source": head.source,
        "parent": head.parent,
        "forked_at": head.forked_at,
        "agents": head.agents,
        "steps": head.steps,
        "unfinished": head.unfinished,
        "in_doubt": doubt,
        "loop": loop
        and {
            "name": loop.name,
            "first": loop.first,
            "last": loop.last,
            "period": loop.period,
            "laps": loop.laps,
        },
        "error": head.error,
        "started": head.started,
        "finished": head.finished,
    }
