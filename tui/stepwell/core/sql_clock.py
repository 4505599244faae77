"""SQL that asks for the time, made to be told that of a replay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise, takewhile
from typing import NamedTuple

from stepwell.core.clauses import NO_ALIAS, QUERIES, table_places
from stepwell.core.sql_sight import ASKS, in_sight
from stepwell.core.tokens import Kind, Token, statements, tokens

_TYPES = {
    "current_timestamp": "timestamptz",
    "current_date": "date",
    "current_time": "timetz",
    "localtimestamp": "timestamp",
    "localtime": "time",
}
"""Key words, and of what type they are."""
_OF_THE_TRANSACTION = frozenset({*_TYPES, "now", "transaction_timestamp"})
_FUNCTIONS = frozenset({"now", "transaction_timestamp", "statement_timestamp", "clock_timestamp"})
_ASKS = re.compile("|".join([*_TYPES, *_FUNCTIONS, *ASKS]), re.IGNORECASE)
_TAKING = QUERIES | {"declare", "explain", "copy", "("}
"""What begins a statement that takes a subquery nearly wherever it takes a value."""
_UNLESS = frozenset({"execute", "json_table"})
"""What makes it one that does not."""


class Told(NamedTuple):
    """A text that is sent, and what stands in it instead of what: pairs, in their order."""

    text: str
    instead: tuple[tuple[str, str], ...] = ()


class _Asked(NamedTuple):
    """What asks for the time, where it stands, and the type of that."""

    name: str
    start: int
    end: int
    type: str
    is_table: bool
    """Whether it stands in place of a table."""
    is_named: bool
    """Whether another name for that may follow."""


def at_time(text: str, began: datetime, now: datetime) -> Told:
    """The text, with the time of its transaction's beginning, or that of now, in place of what asks for either.

    A column that is nothing else keeps its name, and an expression its type. Statements that are no queries stay as
    they are, as does what is in quotes: bodies of functions, and `'now'`. What is in sight of a query is told too.
    """
    parts, instead, at = [], [], 0
    for statement in statements(tokens(text)) if _ASKS.search(text) else ():
        if not _takes_subqueries(statement):
            continue
        for start, end, made in sorted([*_times(statement, began, now), *in_sight(statement, text)]):
            parts += [text[at:start], made]
            instead.append((made, text[start:end]))
            at = end
    return Told("".join([*parts, text[at:]]), tuple(instead))


def _times(found: Sequence[Token], began: datetime, now: datetime) -> Iterator[tuple[int, int, str]]:
    for asked in _asked(found):
        when = began if asked.name in _OF_THE_TRANSACTION else now
        yield asked.start, asked.end, _written(asked, f"TIMESTAMPTZ '{when.isoformat()}'")


def in_expression(text: str, value: str) -> str:
    """An expression of a table's own, with another one, a time, in place of what asks for that."""
    parts, at = [], 0
    for asked in _asked(tokens(text)):
        parts += [text[at : asked.start], f"CAST({value} AS {asked.type})"]
        at = asked.end
    return "".join([*parts, text[at:]])


def asked_for(text: str) -> list[str]:
    """By what a text asks for the time: `now`, `current_date`."""
    return list(dict.fromkeys(each.name for each in _asked(tokens(text))))


def _takes_subqueries(statement: Sequence[Token]) -> bool:
    values = [token.value for token in statement]
    is_table_copied = values[0] == "copy" and values[1:2] != ["("]
    has_rows_from = ("rows", "from") in pairwise(values)
    return values[0] in _TAKING and not is_table_copied and not has_rows_from and _UNLESS.isdisjoint(values)


def _written(asked: _Asked, value: str) -> str:
    cast = f"CAST({value} AS {asked.type})"
    if not asked.is_table:
        return f'(SELECT {cast} AS "{asked.name}")'
    return cast if asked.is_named else f'{cast} AS "{asked.name}"'


def _asked(found: Sequence[Token]) -> Iterator[_Asked]:
    tables = table_places(found)
    for at, token in enumerate(found):
        first, last, type_ = _call(found, at) or _key_word(found, at) or (0, 0, "")
        if type_:
            after = found[last + 1 : last + 2]
            is_alias = bool(after) and (
                after[0].kind is Kind.NAME or (after[0].kind is Kind.WORD and after[0].value not in NO_ALIAS)
            )
            yield _Asked(token.value, found[first].start, found[last].end, type_, first in tables, is_alias)


def _call(found: Sequence[Token], at: int) -> tuple[int, int, str] | None:
    """From which token to which one of the functions is called here."""
    token = found[at]
    called = token.value in _FUNCTIONS and token.kind in (Kind.WORD, Kind.NAME)
    if not called or [each.value for each in found[at + 1 : at + 3]] != ["(", ")"]:
        return None
    if not at or found[at - 1].value != ".":
        return at, at + 2, "timestamptz"
    return (at - 2, at + 2, "timestamptz") if found[at - 2].value == "pg_catalog" else None


def _key_word(found: Sequence[Token], at: int) -> tuple[int, int, str] | None:
    """From which token to which a key word stands here that asks for the time, with its digits."""
    type_ = _TYPES.get(found[at].value)
    before = [each.value for each in found[max(at - 2, 0) : at]]
    if (
        found[at].kind is not Kind.WORD
        or type_ is None
        or before[-1:] in (["."], ["as"])
        or before == ["%", "("]
    ):
        return None
    digits = "".join(
        each.value for each in takewhile(lambda each: each.value.isdigit(), found[at + 2 : at + 8])
    )
    if digits and found[at + 1].value == "(":
        return at, at + 2 + len(digits), f"{type_}({digits})"
    return at, at, type_
