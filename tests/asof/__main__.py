"""`python -m tests.asof`: hostile writers, and whether the past is shown as it was. Exit status 1 if any is wrong."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import psycopg

from tests.asof.compare import Tally
from tests.asof.siege import Outcome, besiege
from tests.benchmarks.harness import Table, durable_server
from tests.conftest import create_database, drop_database


def main(argv: Sequence[str] | None = None) -> int:
    """Run round after round, each on a database of its own, and print what was compared on each server."""
    parser = argparse.ArgumentParser(prog="python -m tests.asof", description=__doc__)
    parser.add_argument("--snapshots", type=int, default=3000, help="how many to take, of all tables (3000)")
    parser.add_argument("--round", type=int, default=300, help="how many in one database (300)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; the next has the next (1)")
    parser.add_argument(
        "--dsn",
        action="append",
        help="conninfo of a superuser on a server to test on, more than once for more; default: a temporary one",
    )
    args = parser.parse_args(argv)
    wrong = 0
    with ExitStack() as stack:
        for server in args.dsn or [stack.enter_context(durable_server(None))]:
            tally = Tally()
            for number in range(max(1, args.snapshots // args.round)):
                outcome = _round(server, args.seed + number, args.round)
                tally.add(outcome.tally)
                wrong += outcome.tally.wrong.total() + len(outcome.unfolded)
            print(_table(server, tally).markdown(), flush=True)
            for fault in tally.faults[:10]:
                print(fault, file=sys.stderr)
    return 1 if wrong else 0


def _round(server: str, seed: int, snapshots: int) -> Outcome:
    """A siege; every other one with an owner who rewrites and empties tables."""
    with _database(server) as conninfo:
        outcome = besiege(conninfo, seed=seed, snapshots=snapshots, rewriting=seed % 2 == 0, thorough=True)
    print(
        f"seed {seed}: {outcome.committed} transactions committed, {outcome.failures.total()} statements failed,"
        f" {outcome.tally.compared.total()} tables compared, {outcome.tally.wrong.total()} wrong;"
        f" {outcome.folded} states reached by changes, {len(outcome.unfolded)} not",
        *outcome.unfolded[:3],
        sep="\n",
        file=sys.stderr,
        flush=True,
    )
    return outcome


@contextmanager
def _database(server: str) -> Iterator[str]:
    conninfo = create_database(server)
    try:
        yield conninfo
    finally:
        drop_database(server, conninfo)


def _table(server: str, tally: Tally) -> Table:
    with psycopg.connect(server) as connection:
        version = connection.info.parameter_status("server_version")
    rows: list[Sequence[str]] = [
        (name, f"{number:,}", f"{number - tally.inexact[name]:,}", f"{tally.wrong[name]:,}")
        for name, number in sorted(tally.compared.items())
    ]
    total = (tally.compared.total(), tally.compared.total() - tally.inexact.total(), tally.wrong.total())
    rows.append(("all", *(f"{number:,}" for number in total)))
    return Table(
        f"The past on Postgres {version}",
        ("table", "snapshots compared", "called exact", "and wrong"),
        rows,
    )


if __name__ == "__main__":
    raise SystemExit(main())
