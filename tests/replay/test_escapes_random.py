"""Random texts against the server itself: none gets a call past the reading of it that Postgres then makes."""

import random
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import generators
from psycopg.pq import ExecStatus

from stepwell.core.statements import CURSOR, parse
from stepwell.errors import StatementError

CALL = "pg_advisory_xact_lock(7)"
HELD = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
CALLS = (
    CALL, "pg_advisory_xact_lock /* */ (7)", '"pg_advisory_xact_lock"(7)', "(7).pg_advisory_xact_lock",
    r"""U&"pg!005fadvisory!005fxact!005flock" UESCAPE E'\x21' (7)""", "treat(7::bigint as pg_advisory_xact_lock)",
)  # fmt: skip
LITERALS = (
    "'{}'", "E'{}'", "e'{}'", "n'{}'", "U&'{}'", "'{}'\n'{}'", "E'{}'\n'{}'", "E'{}' --{}\n '{}'", "E'{}' '{}'",
    "$${}$$", "$a${}$a$", "1/*{}*/", "1/*{}/*{}*/{}*/", "1--{}\n", "1--{}\r", '1 as "{}"', '1 as U&"{}"', "{}",
)  # fmt: skip
INNER = (
    "'",
    "''",
    "\\'",
    "\\",
    "\\\\",
    '"',
    "/*",
    "*/",
    "--",
    "\n",
    "\r",
    "$$",
    "$a$",
    "é",
    "\xa0",
    "\v",
    "x",
    CALL,
)
"""What makes the end of a literal hard to see."""


def texts(seed: int) -> Iterator[str]:
    dice = random.Random(seed)

    def item() -> str:
        if dice.random() < 0.3:
            return dice.choice(CALLS)
        parts = dice.choice(LITERALS).split("{}")
        inner = ("".join(dice.choices(INNER, k=dice.choice((0, 1, 1, 1, 2)))) for _ in parts[1:])
        return parts[0] + "".join(text for pair in zip(inner, parts[1:], strict=True) for text in pair)

    while True:
        head = dice.choice(("select ", "select ", "explain analyze select ", "values ("))
        yield head + ",".join(item() for _ in range(dice.randint(2, 4))) + (")" if head == "values (" else "")


def try_all(dsn: str, count: int, seed: int) -> tuple[int, int]:
    """How many of the texts the server ran, and how many were refused before they were sent."""
    ran = refused = 0
    with psycopg.connect(dsn) as connection:
        for text, _ in zip(texts(seed), range(count), strict=False):
            try:
                sent = parse(text).sent
            except StatementError:
                refused += 1
                continue
            connection.execute("SELECT 1")  # begins
            for statement in (sent, f'FETCH ALL FROM "{CURSOR}"'):
                connection.pgconn.send_query_params(statement.encode(), None)
                (result,) = connection.wait(generators.execute(connection.pgconn))
                if result.status == ExecStatus.FATAL_ERROR:
                    break
                ran += result.status == ExecStatus.TUPLES_OK
            if result.status != ExecStatus.FATAL_ERROR:
                assert connection.execute(HELD).fetchone() == (0,), text
            connection.rollback()
    return ran, refused


@pytest.mark.parametrize(("count", "seed"), [(2500, 1), pytest.param(100_000, 2, marks=pytest.mark.long)])
def test_no_random_text_has_a_function_called_that_is_refused(dsn: str, count: int, seed: int) -> None:
    ran, refused = try_all(dsn, count, seed)
    assert ran > count / 50
    assert refused > count / 50
