"""The shop's own tables, in a schema of their own, and the other program that writes them: the warehouse's sync.

Run as `python -m stepwell.demo.warehouse` with the conninfo on standard input (not among the arguments, which every
user of the machine can read) and then a word a line, each of which it answers once it has committed.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.conninfo import make_conninfo

from stepwell.demo import shop
from stepwell.errors import DatabaseError, RecordingError
from stepwell.store.connect import Target, explain, prepare
from stepwell.store.watching import watch

TABLES = ("stepwell_demo.orders", "stepwell_demo.refunds")
ORDER = 8244
"""The one that the sync holds for a while."""
SYNC = "warehouse-sync"
WORDS = {"hold": "on hold", "release": "paid"}
"""What the sync is told, and the status that it then gives the order."""
READY = "ready"
_MAKE = """
CREATE SCHEMA IF NOT EXISTS stepwell_demo;
CREATE TABLE IF NOT EXISTS stepwell_demo.orders (
    id     INT PRIMARY KEY,
    item   TEXT NOT NULL,
    status TEXT NOT NULL,
    total  NUMERIC(8, 2) NOT NULL
);
CREATE TABLE IF NOT EXISTS stepwell_demo.refunds (
    id          INT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    order_id    INT NOT NULL,
    amount      NUMERIC(8, 2) NOT NULL,
    approved_by TEXT
);
"""
_FILL = """
INSERT INTO stepwell_demo.orders (id, item, status, total) VALUES (%s, %s, %s, %s)
ON CONFLICT (id) DO UPDATE SET status = excluded.status WHERE orders.status <> excluded.status
"""


def open_as(target: Target, name: str) -> Connection[Any]:
    """A connection of a program's own, by whose name the server knows it. Raises DatabaseError."""
    prepare(target)
    try:
        return _open(target.conninfo, name)
    except psycopg.Error as error:
        raise DatabaseError(f"cannot connect to {target.describe()}: {explain(str(error))}") from error


def _open(conninfo: str, name: str) -> Connection[Any]:
    # Statements are not prepared: a transaction pooler would lose them.
    return psycopg.connect(
        make_conninfo(conninfo, application_name=name), autocommit=True, prepare_threshold=None
    )


def make_tables(connection: Connection[Any]) -> tuple[str, ...]:
    """Have the tables there and watched, the orders as they begin; notes for the owner. All of it or nothing.

    Rows of earlier demos stay. Raises DatabaseError, with the reason, where this role may not.
    """
    try:
        with connection.transaction():
            # Where the schema is there, IF NOT EXISTS would still ask for the right to make it.
            there = connection.execute("SELECT to_regclass(%s), to_regclass(%s)", TABLES).fetchone()
            if there is None or None in there:
                connection.execute(_MAKE)
            for order in shop.ORDERS[:8]:
                status = {"ok": "paid", "no": "cancelled"}[order["status"]]
                connection.execute(_FILL, (order["id"], order["item"], status, order["total"]))
            watched = [watch(connection, table) for table in TABLES]
    except psycopg.Error as problem:
        raise DatabaseError(str(problem.diag.message_primary or problem)) from problem
    return tuple(dict.fromkeys(note for table in watched for note in table.notes))


class Sync:
    """The warehouse's sync, as the demo has it work at the moment that matters."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def do(self, line: str, answer: str) -> None:
        """Have it do what the line says; returns once that is committed. Raises RecordingError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        said = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
            said = self._process.stdout.readline().strip()
        if said != answer:
            raise RecordingError("the demo's warehouse sync ended before it was done; see above")

    def hold(self) -> None:
        self.do("hold", WORDS["hold"])

    def release(self) -> None:
        self.do("release", WORDS["release"])


@contextmanager
def syncing(target: Target) -> Iterator[Sync]:
    """The sync, as a process of its own that is connected. Raises RecordingError."""
    prepare(target)
    process = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            sync = Sync(process)
            sync.do(target.conninfo, READY)
            yield sync
        finally:  # it has done what it was told, or will not: nobody tells it to end
            process.kill()


def main() -> None:
    """Do what the lines say until they end."""
    with _open(sys.stdin.readline().rstrip("\n"), SYNC) as connection:
        _answer(READY)
        for line in sys.stdin:
            status = WORDS[line.strip()]
            connection.execute("UPDATE stepwell_demo.orders SET status = %s WHERE id = %s", (status, ORDER))
            _answer(status)


def _answer(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
