"""SQL that asks which tables are in sight: those of the past stand before them, and it is told of those behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepwell.core.clauses import table_places
from stepwell.core.tokens import Kind, Token

_PATH = (
    'pg_catalog.unnest(pg_catalog.current_schemas({implicit})) WITH ORDINALITY AS "!path" (name, place)'
    " WHERE \"!path\".name OPERATOR(pg_catalog.!~) '^(stepwell_asof|pg_temp_)'"
)
_SCHEMA = f'(SELECT "!path".name AS "current_schema" FROM {_PATH} ORDER BY "!path".place LIMIT 1)'
_SCHEMAS = f'ARRAY(SELECT "!path".name FROM {_PATH} ORDER BY "!path".place)'
_TABLES = (
    'SELECT DISTINCT ON ("!table".relname) "!table".oid FROM pg_catalog.pg_class AS "!table" JOIN'
    ' pg_catalog.pg_namespace AS "!schema" ON "!schema".oid OPERATOR(pg_catalog.=) "!table".relnamespace JOIN'
    f' {_PATH.replace(" WHERE", " ON", 1)} AND "!path".name OPERATOR(pg_catalog.=) "!schema".nspname'
    ' ORDER BY "!table".relname, "!path".place'
).format(implicit="true")
_CONSTRAINT = (
    "(SELECT pg_catalog.replace(pg_catalog.pg_get_constraintdef({given}), ' REFERENCES ' ||"
    f" pg_catalog.quote_ident({_SCHEMA.format(implicit='false')}) || '.', ' REFERENCES ')"
    ' AS "pg_get_constraintdef")'
)
"""What is in the first schema needs none before it."""
ASKS = ("pg_table_is_visible", "current_schema", "pg_get_constraintdef")
"""What such a text has in it."""


def in_sight(found: Sequence[Token], text: str) -> Iterator[tuple[int, int, str]]:
    """From where to where a statement asks for that, and what is to stand there."""
    tables = table_places(found)
    for at, token in enumerate(found):
        before = [each.value for each in found[max(at - 2, 0) : at]]
        is_qualified = before == ["pg_catalog", "."]
        first = at - 2 if is_qualified else at
        is_other = not is_qualified and before[-1:] in (["."], ["as"])
        if not token.value.startswith(ASKS) or is_other or first in tables:
            continue
        start, last = found[first].start, _closing(found, at + 1)
        if last is not None and token.kind in (Kind.WORD, Kind.NAME):
            made = _instead(token.value, text[found[at + 1].end : found[last].start])
            if made and token.value == "current_schemas" and before[:1] not in (["any"], ["all"], ["some"]):
                made = f'(SELECT {made} AS "current_schemas")'
            if made:
                yield start, found[last].end, made
        elif token[:2] == (Kind.WORD, "current_schema") and before != ["%", "("]:
            yield start, token.end, _SCHEMA.format(implicit="false")


def _instead(name: str, given: str) -> str:
    """Of a function that is called with this."""
    if name == "pg_table_is_visible":
        return f"(({given}) IN ({_TABLES}))"
    if name == "pg_get_constraintdef":
        return _CONSTRAINT.format(given=given)
    if name == "current_schemas":
        return _SCHEMAS.format(implicit=given)
    return _SCHEMA.format(implicit="false") if name == "current_schema" else ""


def _closing(found: Sequence[Token], at: int) -> int | None:
    """The place of the bracket that closes the one here; None where there is none."""
    depth = 0
    for place in range(at, len(found)):
        depth += (found[place][:2] == (Kind.OTHER, "(")) - (found[place][:2] == (Kind.OTHER, ")"))
        if depth == 0:
            return place if place > at else None
    return None
