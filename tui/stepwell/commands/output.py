"""Lines, tables and JSON on standard output. Recorded text gets there cleaned or ASCII-escaped, never raw."""

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from stepwell.app.present.text import cells, clean, clean_lines, fit

GAP = "  "
NARROWEST = 8
"""A column is never cut to fewer cells than this to make room for others."""
LONGEST = 32
"""Cells of a name: one long one must not push a column away in all other rows."""


def line(text: str = "") -> None:
    """One line for people; controls in it are spelled out."""
    print(clean(text))


def note(text: str) -> None:
    """One line beside the output, on standard error."""
    print(clean(text), file=sys.stderr)


def emit(value: object) -> None:
    """One JSON value on a line of its own."""
    print(to_json(value))


def to_json(value: object) -> str:
    """ASCII-only JSON on one line. Numbers keep all their digits; NaN and infinities become strings."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError):
        return "".join(_write(value, json.dumps))


def pretty(value: object) -> Iterator[str]:
    """A recorded value in cleaned lines for people: a text as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return clean_lines(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    except (TypeError, ValueError):
        text = "".join(_write(value, _readable, "\n"))
    return clean_lines(text)


def brief(value: object) -> str:
    """A recorded value as JSON on one line, not yet cleaned."""
    return "".join(_write(value, _readable))


def _plain(value: object) -> object:
    """What our own shapes hold beside JSON. TypeError for the rest, which is written more slowly."""
    match value:
        case UUID():
            return str(value)
        case datetime():
            return value.isoformat()
        case Mapping():
            return dict(value)
    raise TypeError


def _readable(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write(value: object, quote: Callable[[str], str], newline: str = "") -> Iterator[str]:
    """JSON in pieces. `newline`, where it is set, comes before every item, and grows by the indentation."""
    match value:
        case None | bool():
            yield json.dumps(value)
        case str():
            yield quote(value)
        case int() | Decimal():
            yield str(Decimal(value))  # str(int) refuses more than 4,300 digits
        case float():
            yield repr(value) if math.isfinite(value) else quote(str(value))
        case datetime():
            yield quote(value.isoformat())
        case Mapping() | list() | tuple():
            yield from _write_items(value, quote, newline)
        case UUID():
            yield quote(str(value))
        case _:
            yield quote(repr(value))


def _write_items(
    value: Mapping[object, object] | Sequence[object], quote: Callable[[str], str], newline: str
) -> Iterator[str]:
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    inner = newline and newline + "  "
    yield opening
    for count, item in enumerate(value):
        if count:
            yield "," if newline else ", "
        yield inner
        if isinstance(value, Mapping):
            yield f"{quote(str(item))}: "
            item = value[item]
        yield from _write(item, quote, inner)
    yield newline + closing if value else closing


@dataclass(frozen=True)
class Column:
    """`elastic` columns give way, later ones first, where a table is wider than the terminal.

    `most` is how many cells the column has at most, wherever it is printed.
    """

    title: str
    right: bool = False
    elastic: bool = False
    most: int | None = None


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], *, every: bool = False) -> Iterator[str]:
    """Aligned lines with a line of titles; a terminal's width is kept to. Empty columns are left out unless `every`."""
    body = [[_shown(cell) for cell in row] for row in rows]
    shown = [i for i in range(len(columns)) if every or any(row[i] for row in body)]
    widths = {i: max([cells(columns[i].title), *(cells(row[i]) for row in body)]) for i in shown}
    widths = {i: min(width, columns[i].most or width) for i, width in widths.items()}
    _shrink(widths, [i for i in reversed(shown) if columns[i].elastic])
    for row in [[column.title for column in columns], *body]:
        parts = [_cell(row[i], widths[i], right=columns[i].right) for i in shown]
        yield GAP.join(parts).rstrip()


def _shown(text: str) -> str:
    """Cleaned, and spelled out as the output will: what is measured is what is printed."""
    encoding = sys.stdout.encoding or "ascii"
    return clean(text).encode(encoding, "backslashreplace").decode(encoding)


def _shrink(widths: dict[int, int], elastic: Sequence[int]) -> None:
    width = terminal_width()
    if width is None:
        return
    excess = sum(widths.values()) + len(GAP) * (len(widths) - 1) - width
    for index in elastic:
        if excess <= 0:
            return
        less = min(excess, max(0, widths[index] - NARROWEST))
        widths[index] -= less
        excess -= less


def terminal_width() -> int | None:
    """Cells across, None where the output is no terminal: then nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _cell(text: str, width: int, *, right: bool) -> str:
    if right:
        return " " * (width - cells(text)) + text if cells(text) <= width else fit(text, width, _ellipsis())
    return fit(text, width, _ellipsis())


def _ellipsis() -> str:
    encoding = (sys.stdout.encoding or "ascii").lower()
    return "…" if encoding.startswith("utf") else "..."
