"""SQL that asks for the time, made to be told that of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import takewhile

from stepwell.core.tokens import Kind, Token, tokens

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
_QUERIES = frozenset(
    {
        *("select", "with", "values", "insert", "update", "delete", "merge"),
        *("declare", "explain", "copy", "("),
    }
)
"""What begins a statement that takes a subquery wherever it takes a value."""


def at_time(text: str, began: datetime, now: datetime) -> str:
    """The text, with the time of its transaction's beginning, or that of now, in place of what asks for either.

    A column that is nothing else keeps its name, and an expression its type. Statements that are no queries stay as
    they are, as does what is in quotes: bodies of functions, and `'now'`.
    """
    found = tokens(text)
    if not found or found[0].value not in _QUERIES:
        return text
    parts, at = [], 0
    for name, start, end, type_ in _asked(found):
        when = began if name in _OF_THE_TRANSACTION else now
        parts += [text[at:start], f"(SELECT CAST(TIMESTAMPTZ '{when.isoformat()}' AS {type_}) AS \"{name}\")"]
        at = end
    return "".join([*parts, text[at:]])


def asked_for(text: str) -> list[str]:
    """By what a text asks for the time: `now`, `current_date`."""
    return list(dict.fromkeys(name for name, *_ in _asked(tokens(text))))


def _asked(found: Sequence[Token]) -> Iterator[tuple[str, int, int, str]]:
    """What asks for the time, from where to where it does, and the type of that."""
    for at, token in enumerate(found):
        before = found[at - 1].value if at else ""
        after = [each.value for each in found[at + 1 : at + 3]]
        if token.value in _FUNCTIONS and token.kind in (Kind.WORD, Kind.NAME) and after == ["(", ")"]:
            start = token.start
            if before == ".":
                if found[at - 2].value != "pg_catalog":
                    continue
                start = found[at - 2].start
            yield token.value, start, found[at + 2].end, "timestamptz"
        elif token.kind is Kind.WORD and token.value in _TYPES and before not in (".", "as"):
            digits = "".join(
                each.value for each in takewhile(lambda each: each.value.isdigit(), found[at + 2 :])
            )
            is_exact = after[:1] == ["("] and digits != ""
            end = found[at + 2 + len(digits)].end if is_exact else token.end
            yield token.value, token.start, end, _TYPES[token.value] + (f"({digits})" if is_exact else "")
