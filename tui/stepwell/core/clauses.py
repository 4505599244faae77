"""Where in a statement tables are named: what stands there is no value, though it may look like one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.core.tokens import Kind, Token

QUERIES = frozenset({"select", "with", "values", "insert", "update", "delete", "merge"})
"""How a query begins, be it in brackets."""
_ENDS_FROM = frozenset(
    {
        *("where", "group", "having", "window", "order", "limit", "offset", "fetch", "for"),
        *("union", "intersect", "except", "returning", "set", "select", "values", "when"),
    }
)
_JOINS = frozenset(
    {"cross", "inner", "left", "right", "full", "natural", "join", "on", "using", "tablesample"}
)
NO_ALIAS = _ENDS_FROM | _JOINS
"""Words that are none, where one may stand."""


@dataclass(slots=True)
class _Level:
    """Within one pair of brackets, or outside of all."""

    is_query: bool
    is_from: bool
    """Whether this is where tables are named."""


def table_places(found: Sequence[Token]) -> set[int]:
    """The places of those tokens of a statement with which a table, or a function in place of one, begins."""
    levels = [_Level(is_query=True, is_from=False)]
    result = set()
    for at, token in enumerate(found):
        before, level = (found[at - 1].value if at else ""), levels[-1]
        is_first = before == "from" and not (at > 1 and found[at - 2].value == "distinct")
        if before in ("join", "lateral", "using") or (level.is_from and (is_first or before in (",", "("))):
            result.add(at)
        if token.kind is Kind.WORD and level.is_query:
            if token.value == "from" and before != "distinct":
                level.is_from = True
            elif token.value in _ENDS_FROM:
                level.is_from = False
        elif token[:2] == (Kind.OTHER, "("):
            is_query = at + 1 < len(found) and found[at + 1].value in QUERIES
            levels.append(_Level(is_query, is_from=at in result and not is_query))
        elif token[:2] == (Kind.OTHER, ")") and len(levels) > 1:
            levels.pop()
    return result
