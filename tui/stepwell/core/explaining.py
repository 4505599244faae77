"""A divergence in full, for who has to find out whether it is meant: what was asked, then and now."""

from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice

from stepwell.core.divergence import Asked, Divergence, Kind
from stepwell.core.lines import lay_out
from stepwell.core.world import MISSING

LINES = 40
"""So many lines of a difference are shown."""
COLUMNS = 200
"""And so much of each."""


def explained(found: Divergence) -> str:
    """Further lines to its sentence: the line of the agent's code, and both sides as lines of a `diff`."""
    return "\n".join(_lines(found))


def _lines(found: Divergence) -> Iterator[str]:
    raised = found.kind is Kind.RAISED
    if found.where is not None:
        yield f"{'raised' if raised else 'asked'} at {found.where}"
    if raised:
        return
    then, now = _side(found.recorded), _side(found.asked)
    if not then and not now:
        then, now = _value(found.expected), _value(found.actual)
    titles = f"recorded{_title(found.recorded)}", f"now{_title(found.asked)}"
    difference = unified_diff(then, now, *titles, lineterm="")
    shown = list(islice(difference, LINES))
    yield from (line if len(line) <= COLUMNS else f"{line[:COLUMNS]}…" for line in shown)
    if rest := sum(1 for _ in difference):
        yield f"… and {rest} more lines"


def _title(side: Asked | None) -> str:
    return "" if side is None else f": {side.title()}"


def _side(side: Asked | None) -> list[str]:
    return [] if side is None else _value(side.value)


def _value(value: object) -> list[str]:
    return [] if value is MISSING else lay_out(value).splitlines()
