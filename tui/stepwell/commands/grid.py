"""Rows that a statement gave, for people, as CSV and as JSON."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from stepwell.app.panes.grid import is_number, quoted
from stepwell.app.present.csv_text import csv_line
from stepwell.app.present.text import clean
from stepwell.commands.output import Column, table
from stepwell.core import codec
from stepwell.core.past import Answer, Rows
from stepwell.errors import EncodingError

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", re.ASCII)


def as_lines(rows: Rows) -> Iterator[str]:
    """Aligned, numbers to the right."""
    columns = [
        Column(clean(name), right=is_number(type_), elastic=True)
        for name, type_ in zip(rows.columns, rows.types, strict=True)
    ]
    if columns:
        yield from table(columns, ([quoted(value) for value in row] for row in rows.rows), every=True)
    if not rows.rows:
        yield "(no rows)"


def as_csv(rows: Rows) -> Iterator[str]:
    """Lines as RFC 4180 has them."""
    safe = clean if sys.stdout.isatty() else str
    for row in (rows.columns, *rows.rows):
        yield csv_line(value if value is None else safe(value) for value in row) + "\r\n"


def as_json(rows: Rows) -> dict[str, object]:
    """The documented shape."""
    return {
        "columns": rows.columns,
        "types": rows.types,
        "rows": [[_value(*pair) for pair in zip(row, rows.types, strict=True)] for row in rows.rows],
        "more": rows.more,
    }


def _value(text: str | None, type_: str) -> object:
    """Numbers keep their digits; what is no JSON (NaN, what is nested too deeply) stays a text."""
    if text is None:
        return None
    if type_ == "boolean":
        return text == "t"
    if is_number(type_):
        return Decimal(text) if _NUMBER.fullmatch(text) else text
    if type_ in ("json", "jsonb"):
        try:
            return codec.parse(text)
        except (EncodingError, ValueError):
            return text
    return text


def of_tables(answer: Answer) -> Answer:
    """The watched tables as rows."""
    found = tuple(
        (f"{t.schema}.{t.name}", ", ".join(t.key), t.verdict.certainty.value, t.verdict.why)
        for t in answer.tables
    )
    return replace(answer, rows=Rows(("table", "key", "certainty", "why"), ("text",) * 4, found))


def of_columns(answer: Answer) -> Answer:
    """The columns of what was read as rows, with those of the key where that is a watched table."""
    read = {seen.name for seen in answer.seen}
    key = next(
        (t.key for t in answer.tables if read & {t.name, f"{t.schema}.{t.name}"}),
        (),
    )
    found = tuple(
        (name, type_, "key" if name in key else "")
        for name, type_ in zip(answer.rows.columns, answer.rows.types, strict=True)
    )
    return replace(answer, rows=Rows(("column", "type", "key"), ("text",) * 3, found))
