"""`stepwell sql ADDRESS "select …"`: what a query gives at a step, with watched tables as they were then."""

import argparse
import sys
from collections.abc import Iterator

from stepwell.app.present.figures import count
from stepwell.commands import grid
from stepwell.commands.given import add_text, text_of
from stepwell.commands.output import emit, line, note
from stepwell.commands.runs import positive
from stepwell.commands.session import address_of, opened, step_at, target_of
from stepwell.commands.words import worth
from stepwell.core.address import Address, Number, short_id
from stepwell.core.past import Answer, Certainty, Seen, Table
from stepwell.core.steps import RunHead
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError, StatementError, UsageError
from stepwell.replay import Replayer

INTERRUPTED = 130
LIMIT = 500
"""Rows that people are shown, where they do not say how many."""
USAGE = """\
%(prog)s [-h] [--asked] [--limit N] [--json | --csv] [--dsn DSN]
                    ADDRESS (SQL | -f FILE)"""
NOTHING = "SELECT"
"""Reads no row: for what is known of the watched tables alone."""
HELP = """\
SELECT, WITH, VALUES, TABLE, EXPLAIN and SHOW run here, one at a time.
Of the watched tables, their unqualified names mean the rows of then. Names with
a schema, views and functions of your own read the rows of today; it is said
where a statement does.
Functions that act beyond the transaction, such as advisory locks, are refused.
  \\d         the watched tables, and how far what they show can be trusted
  \\d NAME    the columns of a table
  \\?         this page"""
JSON_HELP = f"""\
{HELP}

with --json, one object:
  address    RUN:STEP, to give to any command
  name       of the run, or null
  moment     "asked" or "after"
  columns, types
             names, as Postgres writes them
  rows       lists: numbers with all their digits, booleans, null, the values of
             json and jsonb; anything else is a text, as Postgres writes it
  more       whether there are more rows than --limit
  tables     the watched tables, as of the step: a list of {{"schema", "name",
             "key", "columns", "certainty", "why"}}; certainty is "exact",
             "uncertain" or "unknown"
  seen       what the statement reads: a list of {{"name", "how", "certainty",
             "why"}}; how is "past", "today" or, of functions, "opaque"
  caution    why nothing but the role bounds what it does, and that a time is
             today's; or null
  replay     {{"isolation", "milliseconds", "retries", "notes", "rolled_back"}}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="RUN:17; the last step where none is named")
    parser.usage = USAGE
    add_text(parser, "statement", "SQL", "one statement, \\d, \\d NAME or \\?")
    parser.add_argument("--asked", action="store_true", help="as it was when the step began, not after it")
    parser.add_argument("--limit", type=positive, metavar="N", help=f"at most N rows (for people {LIMIT})")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object, all rows")
    form.add_argument("--csv", action="store_true", help="CSV with a line of names, all rows")


def run(args: argparse.Namespace) -> int:
    """Print the rows; 130 where it was interrupted. Raises NotFoundError, UsageError and DatabaseError."""
    address = address_of(args.address)
    if address.path is not None:
        raise UsageError("sql takes a step; a path goes with show")
    text = text_of(args.statement, args.file, "statement")
    command, name = _command(text)
    if command == "\\?":
        print(HELP)
        return 0
    moment = Moment.ASKED if args.asked else Moment.AFTER
    limit = args.limit or (None if args.json or args.csv else LIMIT)
    try:
        with opened(target_of(args), address.run) as (head, replayer):
            number = step_at(head, replayer, address.step).number
            if command:
                answer = _listed(replayer, number, moment, name)
            else:
                answer = _answer(replayer, number, moment, text, limit)
    except KeyboardInterrupt:  # what ran on the server is cancelled by then
        note("cancelled")
        return INTERRUPTED
    if args.json:
        place = Address(head.run_id.hex, Number(number))
        emit({"address": str(place), "name": head.name, "moment": moment.value, **as_json(answer)})
        return 0
    if name or not command:
        for told in _marks(answer, _place(head, address, number, moment), number):
            note(told)
    _print(answer, csv=args.csv)
    return 0


def _place(head: RunHead, given: Address, number: int, moment: Moment) -> str:
    """`7f3a:5 after (refund-approval)`; with as many digits as were given, which may be needed."""
    short = short_id(head.run_id)
    run = short if given.run.startswith("@") else max(given.run.replace("-", "").lower(), short, key=len)
    return f"{run}:{number} {moment.value}{f' ({head.name})' if head.name else ''}"


def _print(answer: Answer, *, csv: bool) -> None:
    if csv:
        for row in grid.as_csv(answer.rows):
            sys.stdout.write(row)
        return
    for row in grid.as_lines(answer.rows):
        line(row)
    if answer.rows.more:
        shown = count(len(answer.rows.rows))
        note(f"there are more rows than these {shown}: --limit N, or all of them with --csv or --json")


def _command(text: str) -> tuple[str, str]:
    """What begins with a backslash, and what it is given; two empty texts for SQL. Raises UsageError."""
    command, _, name = text.strip().rstrip("; ").partition(" ")
    if not command.startswith("\\"):
        return "", ""
    if command not in ("\\d", "\\?"):
        raise UsageError(f"no command {command[:20]}: \\d, \\d NAME, \\?")
    return command, name.strip()


def _listed(replayer: Replayer, number: int, moment: Moment, name: str) -> Answer:
    """The watched tables, or the columns of a table. Raises DatabaseError."""
    if not name:
        return grid.of_tables(replayer.query(number, moment, NOTHING, limit=1))
    return grid.of_columns(replayer.query(number, moment, f"SELECT * FROM {name} LIMIT 0", limit=1))


def _answer(replayer: Replayer, number: int, moment: Moment, text: str, limit: int | None) -> Answer:
    """Raises DatabaseError, with the place in the statement where there is one."""
    try:
        return replayer.query(number, moment, text, limit=limit)
    except StatementError as problem:
        if problem.position is None:
            raise
        before = text[: problem.position - 1]
        column = len(before) - before.rfind("\n")
        raise DatabaseError(f"{problem} (line {before.count(chr(10)) + 1}, column {column})") from problem


def as_json(answer: Answer) -> dict[str, object]:
    """The documented shape of an answer."""
    replay = answer.replay
    return {
        **grid.as_json(answer.rows),
        "tables": [_table(table) for table in answer.tables],
        "seen": [_seen(seen) for seen in answer.seen],
        "caution": answer.caution or None,
        "replay": {
            "isolation": replay.isolation,
            "milliseconds": round(replay.milliseconds, 1),
            "retries": replay.retries,
            "notes": replay.notes,
            "rolled_back": replay.rolled_back,
        },
    }


def _table(table: Table) -> dict[str, object]:
    return {
        "schema": table.schema,
        "name": table.name,
        "key": table.key,
        "columns": table.columns,
        **worth(table.verdict),
    }


def _seen(seen: Seen) -> dict[str, object]:
    return {"name": seen.name, "how": seen.how, **worth(seen.verdict)}


def _marks(answer: Answer, place: str, number: int) -> Iterator[str]:
    """What the rows mean: in one line where all are exact, else a line more for each table of which they are not."""
    found = {seen.verdict.certainty for seen in answer.seen if seen.how == "past" and seen.verdict}
    worst = next((worth for worth in (Certainty.UNCERTAIN, Certainty.EXACT) if worth in found), None)
    if answer.instant is None:
        yield f"{place}: recorded without a snapshot, so that all rows are today's"
    elif worst is None:
        yield f"{place}: no watched table is read"
    else:
        yield f"as of {place}, {worst.value}"
    for seen in answer.seen:
        why = f": {seen.verdict.why}" if seen.verdict and seen.verdict.why else ""
        if seen.how == "today":
            yield f"{seen.name}: today's rows, not those of step {number}{why}"
        elif seen.how == "opaque":
            yield f"{seen.name}: what it reads cannot be told"
        elif seen.verdict and seen.verdict.certainty is not Certainty.EXACT:
            yield f"{seen.name}: {seen.verdict.certainty.value}{why}"
    if answer.caution:
        yield answer.caution
    yield from answer.replay.notes
