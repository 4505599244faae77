"""Which SQL of re-executed code goes to the database as it is.

The transaction of a replay is read-only, which refuses all that writes rows. What is left is what ends the transaction,
and what others would feel though no row is written: locks, statistics, files.

That is of texts as they come from cursors of the connection. What a function or a DO block does inside is not seen, nor
what comes from a cursor that was made of a class of psycopg's by hand, or by way of `pgconn`. There the database alone
refuses, in the transaction of the replay and, as long as nobody says READ WRITE, in each after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from itertools import pairwise

from stepwell.core.effects import why_refused
from stepwell.core.tokens import Kind, Token, statements, tokens


class Way(Enum):
    """What becomes of a text."""

    SENT = auto()
    COMMIT = auto()
    """It is nothing but that."""
    ROLLBACK = auto()
    NOTHING = auto()
    """It is nothing but a BEGIN or a SET TRANSACTION: of which kind the transaction is, the replay says."""


class UnfitError(Exception):
    """Of no use in a replay; says why."""


_SENT = {
    *(
        "select",
        "with",
        "values",
        "table",
        "insert",
        "update",
        "delete",
        "merge",
        "copy",
        "explain",
        "do",
        "call",
    ),
    *("set", "reset", "show", "declare", "fetch", "move", "close", "prepare", "execute", "deallocate"),
    *(
        "savepoint",
        "release",
        "create",
        "alter",
        "drop",
        "truncate",
        "grant",
        "revoke",
        "comment",
    ),
    *("refresh", "import", "security", "reassign", "notify", "unlisten"),
}
"""How a statement may begin: those among them that write are left to the database to refuse."""
_END = {"commit": Way.COMMIT, "end": Way.COMMIT, "rollback": Way.ROLLBACK, "abort": Way.ROLLBACK}
_NOISE = frozenset({"work", "transaction"})
_HARMLESS = re.compile(
    r"nextval|setval|set_config|setseed|pg_notify|pg_current_xact_id|txid_current|(query|cursor|table|schema|database)_to_xml\w*"
    r"|ts_stat|ts_rewrite|crosstab\w*|connectby|xpath_table"
)
"""Functions that do nothing here: what they do is refused by the database, or gone with the session."""
_LOCKS = {("for", "update"), ("for", "no"), ("for", "share"), ("for", "key")}
_LOCKING = {"for", "key"}
"""What stands before an UPDATE that is none."""
_HERE = {(way, stream) for way in ("from", "to") for stream in ("stdin", "stdout")}
"""By what a COPY goes to the agent and no further, each as Postgres takes either."""
_WRITES = {("insert", "into"), ("delete", "from"), ("merge", "into"), ("truncate", "table")}


def way_of(text: str) -> Way:
    """What becomes of this text. Raises UnfitError."""
    ways = [_way(statement) for statement in statements(tokens(text))]
    if len(ways) == 1:
        return ways[0]
    if Way.COMMIT in ways or Way.ROLLBACK in ways:
        raise UnfitError(
            "it ends the transaction and does something else in one text; call commit() or rollback()"
        )
    return Way.SENT


def begins_block(text: str) -> bool:
    """Whether it begins a transaction."""
    return any(statement[0].value in ("begin", "start") for statement in statements(tokens(text)))


def locks_rows(text: str) -> bool:
    """Whether it locks rows that it reads, as FOR UPDATE does."""
    return not _LOCKS.isdisjoint(_pairs(text))


def draws(text: str) -> bool:
    """Whether it takes a number of a sequence by itself."""
    return any(token.value == "nextval" for token in tokens(text))


def upserts(text: str) -> bool:
    """Whether it says what is to be done about rows that are there already."""
    return ("on", "conflict") in _pairs(text)


def _pairs(text: str) -> set[tuple[str, str]]:
    """Words of it that stand next to each other."""
    return set(pairwise(token.value for token in tokens(text) if token.kind is Kind.WORD))


def written_by(text: str) -> str | None:
    """The table that a text writes to first, as it names it; None where that is not plain."""
    found = tokens(text)
    for place in range(len(found)):
        if place and found[place - 1].value in _LOCKING:
            continue
        words = [each.value for each in found[place : place + 2] if each.kind is Kind.WORD]
        if tuple(words) in _WRITES:
            return _name(found[place + 2 :])
        if words[:1] in (["update"], ["truncate"], ["copy"]):
            return _name(found[place + 1 :])
    return None


def named_with_schema(text: str) -> set[tuple[str, str]]:
    """Pairs of names with a dot between: schemas with their tables, among others, but not what is written to first."""
    found, written = tokens(text), written_by(text)
    names = {
        (one.value, other.value)
        for one, dot, other in zip(found, found[1:], found[2:], strict=False)
        if dot.value == "." and {one.kind, other.kind} <= {Kind.WORD, Kind.NAME}
    }
    return {(schema, name) for schema, name in names if f"{schema}.{name}" != written}


def _name(found: Sequence[Token]) -> str | None:
    if found and found[0][:2] == (Kind.WORD, "only"):
        found = found[1:]
    parts = []
    for place, token in enumerate(found):
        if place % 2 == 0 and token.kind in (Kind.WORD, Kind.NAME):
            parts.append(token.value)
        elif place % 2 == 0 or token.value != ".":
            break
    return ".".join(parts) or None


def _way(statement: Sequence[Token]) -> Way:
    first = next((token for token in statement if token.value != "("), statement[0])
    words = [token.value for token in statement if token.kind is Kind.WORD and token.value not in _NOISE]
    for name, after in pairwise(statement):
        is_call = name.kind in (Kind.WORD, Kind.NAME) and after.value == "("
        if is_call and not _HARMLESS.fullmatch(name.value) and (why := why_refused(name.value)):
            raise UnfitError(why)
    if first.kind is not Kind.WORD:
        return Way.SENT  # which is no SQL
    if first.value in _END and words[1:2] not in (["to"], ["prepared"]):
        return _END[first.value]
    second = statement[1].value if statement[1:] else ""
    if first.value in ("begin", "start") or (first.value, second) == ("set", "transaction"):
        return Way.NOTHING
    if (first.value, second) == ("prepare", "transaction"):
        raise UnfitError("PREPARE TRANSACTION does not run in a replay: it would outlive it")
    if first.value not in _SENT and first.value not in _END:
        raise UnfitError(f"{first.value.upper()} does not run in a replay")
    if first.value == "copy" and not _is_here(statement):
        raise UnfitError("COPY from or to a file of the server's, or a program, does not run in a replay")
    return Way.SENT


def _is_here(statement: Sequence[Token]) -> bool:
    """Whether a COPY goes to the agent or comes from it, as it says outside of all brackets."""
    depth, words = 0, []
    for token in statement:
        depth += (token[:2] == (Kind.OTHER, "(")) - (token[:2] == (Kind.OTHER, ")"))
        if depth == 0:
            words.append(token.value if token.kind is Kind.WORD else "")
    return any(pair in _HERE for pair in pairwise(words))
