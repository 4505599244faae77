"""`stepwell watch TABLE…`: have every change of a table logged, so that steps can show it as it was."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from stepwell.commands.output import emit, line, note
from stepwell.commands.session import target_of
from stepwell.core.names import command_name
from stepwell.errors import StepwellError
from stepwell.store import watching
from stepwell.store.connect import connect
from stepwell.store.scripts import Draft
from stepwell.store.watching import Watched

JSON_HELP = """\
Each row that is written then costs its writer about 0.1 ms more, and a row in
the schema stepwell_log. `stepwell unwatch TABLE` takes all of it out again.
Watch a table again after an ALTER TABLE, and after a role was given or denied
the right to read it.

A table name is written as in SQL: orders, shop.orders, shop."Odd Name". Each
table is a transaction of its own, which waits at most a second for writers. The
owner of the table may do it who may CREATE in the database, or is a member of
stepwell_watcher (see sql/roles.sql).

exit status: 0 done, for all of them; 1 a table is not there; 2 one is refused

with --json, one object a table: {"table", "schema", "name", "again", "notes",
"sql", "error"}: whether it was watched before; with --dry-run what would be
run; why it was refused, else null
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE", help="as SQL names it, with its schema or without"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the SQL that would run, for psql, and run nothing"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Watch each, and tell of each. Raises DatabaseError where there is no connection."""
    with closing(connect(target_of(args))) as connection:
        if args.dry_run:
            script = Draft(connection)

            def work(table: str) -> Watched:
                script.texts.clear()
                return watching.draft(script, table)
        else:

            def work(table: str) -> Watched:
                return watching.watch(connection, table)

        status = 0
        for table, done, problem in each(args.tables, work):
            status = max(status, problem.exit_status if problem else 0)
            texts = script.texts if args.dry_run and done else []
            _tell(args, table, done, problem, texts)
    return status


def each(
    tables: Sequence[str], work: Callable[[str], Watched]
) -> Iterator[tuple[str, Watched | None, StepwellError | None]]:
    """Work through all, whatever becomes of one; what was done with it, or why not."""
    for table in tables:
        try:
            yield table, work(table), None
        except StepwellError as problem:
            yield table, None, problem


def _tell(
    args: argparse.Namespace,
    table: str,
    done: Watched | None,
    problem: StepwellError | None,
    texts: Sequence[str],
) -> None:
    if args.json:
        emit(
            {
                "table": table,
                "schema": done and done.schema,
                "name": done and done.name,
                "again": done and done.again,
                "notes": done.notes if done else (),
                "sql": "\n".join(texts) if args.dry_run and done else None,
                "error": str(problem) if problem else None,
            }
        )
    elif problem is not None:
        note(f"stepwell: {problem}")
    elif done is not None:
        name = f"{done.schema}.{done.name}"
        if args.dry_run:
            line(f"-- {'watch again' if done.again else 'watch'} {name}")
            print("\n".join(texts))
        else:
            line(_words(done))
        for told in done.notes:
            note(f"{name}: {told}")


def _words(done: Watched) -> str:
    name = f"{done.schema}.{done.name}"
    if done.again:
        return f"{name} is watched again, as it is now; its past goes on"
    out = f"stepwell unwatch {command_name(done.schema, done.name)}"
    return f"{name} is watched from now on; a row written costs about 0.1 ms more; out: {out}"
