"""What a statement reads, as its plan, text and views tell: tables as of the instant or of today, and functions.

Best effort: a function may read anything, and what the planner has worked out by itself is in no plan. What matters is
that a table of today is never taken for one of then.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from psycopg import Connection
from psycopg.rows import dict_row

from stepwell.core.effects import is_harmless, why_unknown
from stepwell.core.past import Certainty, Seen, Table
from stepwell.core.statements import OURS, Statement, calls
from stepwell.core.tokens import tokens
from stepwell.errors import StatementError
from stepwell.store.asking import send
from stepwell.store.queries import query

PAST, TODAY, OPAQUE = "past", "today", "opaque"
LARGE_OBJECT = "lo_get"
"""Reads what no log has, though the row that names it be one of then."""
_PAST_ALIAS = re.compile(re.escape(OURS) + r"(_\d+)?")
_NOT_LISTED = re.compile(r"pg_catalog|pg_toast|information_schema|stepwell_(log|asof\w*)")
_NAMES = frozenset(
    {
        "Node Type",
        "Relation Name",
        "Schema",
        "Alias",
        "Index Name",
        "Function Name",
        "CTE Name",
        "Tuplestore Name",
    }
)
"""Of a plan, what is a bare name and no expression."""
Node = dict[str, object]


def read_seen(connection: Connection, statement: Statement, tables: Sequence[Table]) -> tuple[Seen, ...]:
    """What the statement will read. Has it planned, and not run.

    Raises StatementError where the database refuses it, or where it calls what takes effect outside of the transaction.
    """
    if statement.kind == "show":
        return ()
    text = send(connection, statement, statement.explained).get_value(0, 0) or b"[]"
    try:
        nodes = [node for plan in json.loads(text) for node in _nodes(plan["Plan"])]
    except RecursionError:
        raise StatementError("its plan is nested too deeply to be looked at") from None
    # A plan has neither what VALUES lists nor what LIMIT counts: of the statement itself these are in its text.
    views = [row[0] for row in connection.execute(query("find_views"), prepare=False)]
    try:
        expressions = [text for node in nodes for text in _expressions(node)]
        named = [call for text in (*expressions, *views) for call in calls(tokens(text))]
    except StatementError as problem:
        raise StatementError(str(problem)) from None  # the place is one in the plan, or in a view
    return (
        *_relations(connection, nodes, tables),
        *_functions(connection, [*statement.calls, *named]),
    )


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    below = node.get("Plans", [])
    assert isinstance(below, list)
    for child in below:
        yield from _nodes(child)


def _expressions(node: Node) -> Iterator[str]:
    for key, value in node.items():
        if key not in _NAMES:
            values = value if isinstance(value, list) else [value]
            yield from (text for text in values if isinstance(text, str))


def _relations(connection: Connection, nodes: Sequence[Node], tables: Sequence[Table]) -> list[Seen]:
    scans = list(dict.fromkeys(scan for node in nodes if (scan := _scan(node))))
    # Joins that a foreign server makes are told by their names together.
    joins = [Seen(str(node["Relations"]), TODAY) for node in nodes if "Relations" in node]
    if not scans:
        return joins
    given = {"schemas": [schema for schema, *_ in scans], "names": [name for _, name, _ in scans]}
    roots = {row[0]: row[1:] for row in connection.execute(query("find_roots"), given, prepare=False)}
    seen = [
        _relation(*roots.get(place, scan[:2]), past=scan[2], tables=tables)
        for place, scan in enumerate(scans, 1)
    ]
    return list(dict.fromkeys([*seen, *joins]))


def _scan(node: Node) -> tuple[str, str, bool] | None:
    """Schema and name of what a node reads, and whether that is its past; None for what is not listed."""
    schema, name = node.get("Schema"), node.get("Relation Name")
    if name is None or _NOT_LISTED.fullmatch(str(schema)):
        return None
    return str(schema), str(name), _PAST_ALIAS.fullmatch(str(node["Alias"])) is not None


def _relation(schema: str, name: str, *, past: bool, tables: Sequence[Table]) -> Seen:
    table = next((t for t in tables if (t.schema, t.name) == (schema, name)), None)
    if table is not None and (past or table.verdict.certainty is Certainty.UNKNOWN):
        how = TODAY if table.verdict.certainty is Certainty.UNKNOWN else PAST
        return Seen(past_name(table, tables), how, table.verdict)
    return Seen(f"{schema}.{name}", TODAY)


def past_name(table: Table, tables: Sequence[Table]) -> str:
    """What `Seen` calls a watched table: by its name alone, unless another one has it too."""
    alone = sum(other.name == table.name for other in tables) == 1
    return table.name if alone else f"{table.schema}.{table.name}"


def _functions(connection: Connection, named: Iterable[tuple[str, str]]) -> list[Seen]:
    """Raises StatementError for one that is not known to be harmless."""
    found = list(dict.fromkeys(named))
    if not found:
        return []
    given = {"schemas": [schema for schema, _ in found], "names": [name for _, name in found]}
    seen: list[Seen] = []
    with connection.cursor(row_factory=dict_row) as cursor:
        for row in cursor.execute(query("find_functions"), given, prepare=False).fetchall():
            if not row["own"]:
                seen.append(Seen(f"{row['nspname']}.{row['proname']}()", OPAQUE))
            elif not is_harmless(row["proname"]):
                raise StatementError(why_unknown(row["proname"]))
            elif row["proname"] == LARGE_OBJECT:
                seen.append(Seen(f"{LARGE_OBJECT}()", TODAY))
    return seen
