"""Which statements may be sent at all, and in which form: one that reads, made the query of a cursor.

`DECLARE … CURSOR FOR` takes nothing but a query, so the server's own parser refuses whatever else stands in the text.
"""

import re
from dataclasses import dataclass

from stepwell.core.effects import why_refused
from stepwell.core.tokens import Kind, Token, is_uescape, tokens
from stepwell.errors import StatementError

CURSOR = "stepwell"
DECLARE = f'DECLARE "{CURSOR}" NO SCROLL CURSOR FOR '
OURS = "!stepwell"
"""The alias of a table of which the past is read, in the functions that do that; Postgres may number it."""
BRACKET = (Kind.OTHER, "(")
QUERIES = frozenset({"select", "with", "values", "table"})
ONLY = "only SELECT, WITH, VALUES, TABLE, EXPLAIN and SHOW run here: the replay is read-only"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may be sent. `kind` is `query`, `explain` or `show`."""

    kind: str
    text: str
    query_at: int = 0
    """Where in `text` the query begins, from 0."""
    calls: tuple[tuple[str, str], ...] = ()
    """The names that may be those of functions: schema, or nothing, and name."""

    @property
    def sent(self) -> str:
        """What is sent."""
        if self.kind == "show":
            return self.text
        return f"{self.text[: self.query_at]}{DECLARE}{self.text[self.query_at :]}"

    @property
    def explained(self) -> str:
        """The query in a form in which the server plans it only, and tells the plan."""
        return f"{EXPLAIN}{DECLARE}{self.text[self.query_at :]}"

    def position(self, sent: int | None, *, explained: bool = False) -> int | None:
        """Where in `text`, from 1, a place is that the server tells of what was sent; None for one before it."""
        if sent is None or self.kind == "show":
            return sent
        if explained:
            place = sent - len(EXPLAIN) - len(DECLARE) + self.query_at
            return place if place > self.query_at else None
        return sent if sent <= self.query_at else max(sent - len(DECLARE), self.query_at + 1)


_OPTIONS = {(Kind.WORD, word) for word in ("analyze", "analyse", "verbose")}
EXPLAIN = "EXPLAIN (VERBOSE, FORMAT JSON) "


def parse(text: str) -> Statement:
    """The statement of a text that a user gave. Raises StatementError for one that is not to be sent."""
    found = tokens(text)
    if not found:
        raise StatementError(f"there is no statement: {ONLY}")
    if "\0" in text or re.search("[\ud800-\udfff]", text):
        raise StatementError("the statement holds what is no text")
    for place, token in enumerate(found):
        if why := _why_unclear(found[place : place + 2]):
            raise StatementError(why, position=token.start + 1)
    named = tuple(calls(found))
    if _is_query(found):
        return Statement("query", text, 0, named)
    match found[0][:2]:
        case (Kind.WORD, "show"):
            return Statement("show", text)
        case (Kind.WORD, "explain"):
            return Statement("explain", text, _query_of(found), named)
    raise StatementError(ONLY, position=found[0].start + 1)


def _why_unclear(found: list[Token]) -> str:
    """Why the names in a statement would not tell what it reads and calls, if these two stand in it; else empty."""
    if found[0].kind is Kind.NAME and found[0].value.startswith(OURS):
        return f"names that begin with {OURS} are Stepwell's own"
    if is_uescape(found):
        return "UESCAPE takes one sign in plain quotes here"
    if [token[:2] for token in found] == [(Kind.WORD, "treat"), BRACKET]:
        return "TREAT() does not run here: it calls a function by the name of a type; CAST() converts"
    return ""


def is_complete(text: str) -> bool:
    """Whether the text, as far as it has been typed, is a whole statement: it ends with `;`, outside of all quotes and
    brackets."""
    found = tokens(text)
    depth = sum((token.value == "(") - (token.value == ")") for token in found if token.kind is Kind.OTHER)
    return bool(found) and found[-1][:2] == (Kind.OTHER, ";") and depth <= 0


def _is_query(found: list[Token], at: int = 0) -> bool:
    """Whether what begins there does so with such a word, maybe in brackets."""
    while at < len(found) and found[at][:2] == BRACKET:
        at += 1
    return at < len(found) and found[at].kind is Kind.WORD and found[at].value in QUERIES


def _query_of(found: list[Token]) -> int:
    """Where the query begins that EXPLAIN is given. Raises StatementError where it is given something else."""
    at = 1
    while at < len(found) and found[at][:2] in _OPTIONS:
        at += 1
    if at < len(found) and found[at][:2] == BRACKET and not _is_query(found, at):
        at = _closing(found, at) + 1
    if not _is_query(found, at):
        place = found[min(at, len(found) - 1)].start + 1
        raise StatementError(f"EXPLAIN takes SELECT, WITH, VALUES or TABLE: {ONLY}", position=place)
    return found[at].start


def _closing(found: list[Token], at: int) -> int:
    depth = 0
    for index in range(at, len(found)):
        if found[index].kind is Kind.OTHER:
            depth += (found[index].value == "(") - (found[index].value == ")")
        if depth == 0:
            return index
    return len(found)


def calls(found: list[Token]) -> list[tuple[str, str]]:
    """The names that may be those of functions: before an opening bracket, or behind a dot, as in `(17).abs`.

    With the schema, or nothing where none is given. Raises StatementError for a function that takes effect outside of
    the transaction.
    """
    names: list[tuple[str, str]] = []
    for index, token in enumerate(found):
        if token.kind not in (Kind.WORD, Kind.NAME):
            continue
        dotted = index > 0 and found[index - 1][:2] == (Kind.OTHER, ".")
        if dotted or (index + 1 < len(found) and found[index + 1][:2] == BRACKET):
            if why := why_refused(token.value):
                raise StatementError(why, position=token.start + 1)
            of = found[index - 2] if dotted and index > 1 else None
            names.append((of.value if of and of.kind in (Kind.WORD, Kind.NAME) else "", token.value))
    return list(dict.fromkeys(names))
