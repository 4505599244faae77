"""`stepwell watched`: the watched tables, how large their logs are, and whether all of them is captured."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime

from stepwell.app.present.figures import age, count, size
from stepwell.commands.output import LONGEST, Column, emit, line, note, table
from stepwell.commands.session import target_of
from stepwell.commands.words import worth
from stepwell.core.past import Certainty
from stepwell.store.connect import connect
from stepwell.store.watched import WatchedTable, read_watched_tables

COLUMNS = (
    Column("TABLE", elastic=True, most=LONGEST),
    Column("SINCE"),
    Column("ROWS", right=True),
    Column("SIZE", right=True),
    Column("A DAY", right=True),
    Column("PAST"),
    Column("WHY", elastic=True),
)
JSON_HELP = """\
PAST is what a step that is recorded now could show: exact, uncertain or
unknown, with the reason. A DAY is what the log grows by, since the server
counts; ~ marks what the server thinks. `stepwell prune` deletes what no
recorded step needs.

exit status: 0 there are some; 1 no table is watched

with --json, one object a line:
  schema, name     of the table
  since            when it was watched first, ISO 8601
  rows, counted    entries of its log, and whether they were counted
  bytes            of its log with indexes
  rows_a_day, bytes_a_day
                   what is logged in a day, or null
  certainty, why   "exact", "uncertain" or "unknown" as of now, and why
  remedy           what can be done about it, or null
  pruned_to        the transaction before which the log has been pruned, or null
  told_since       when the oldest run began of which all is told since; or null
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Print the list. 1 where no table is watched. Raises DatabaseError."""
    with closing(connect(target_of(args))) as connection:
        found = read_watched_tables(connection)
    if args.json:
        for each in found:
            emit(as_json(each))
    elif found:
        for text in table(COLUMNS, rows(found, datetime.now(UTC))):
            line(text)
        for each in found:
            if each.now.certainty is not Certainty.EXACT:  # whole, and as a command: the column may be cut
                note(f"{each.schema}.{each.name}: {'; '.join(filter(None, (each.now.why, each.remedy)))}")
    else:
        note("no table is watched here; stepwell watch TABLE")
    return 0 if found else 1


def rows(tables: Sequence[WatchedTable], now: datetime) -> Iterator[list[str]]:
    """Cells for `COLUMNS`, not yet cleaned."""
    for each in tables:
        daily = each.bytes_a_day
        yield [
            f"{each.schema}.{each.name}",
            age(each.since, now),
            f"{'' if each.counted else '~'}{count(each.rows)}",
            size(each.bytes),
            "" if daily is None else f"~{size(round(daily))}",
            each.now.certainty.value,
            "; ".join(_why(each)),
        ]


def _why(each: WatchedTable) -> Iterator[str]:
    if each.now.why:
        yield each.now.why
    if each.now.certainty is not Certainty.UNKNOWN and each.pruned_to is not None:
        since = each.told_since and f"; told since {each.told_since.astimezone(UTC):%Y-%m-%d %H:%MZ}"
        yield f"pruned{since or ''}"


def as_json(each: WatchedTable) -> dict[str, object]:
    """The documented shape of a watched table."""
    return {
        "schema": each.schema,
        "name": each.name,
        "since": each.since,
        "rows": each.rows,
        "counted": each.counted,
        "bytes": each.bytes,
        "rows_a_day": each.rows_a_day,
        "bytes_a_day": each.bytes_a_day,
        **worth(each.now),
        "remedy": each.remedy or None,
        "pruned_to": each.pruned_to,
        "told_since": each.told_since,
    }
