"""A divergence in full, for who has to find out whether it is meant: what was asked, then and now."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, zip_longest

from stepwell.core.divergence import Asked, Divergence, Kind, alike, in_order_of
from stepwell.core.lines import lay_out, printable
from stepwell.core.world import MISSING

LINES = 40
"""So many lines of a difference are shown."""
COLUMNS = 200
"""And so much of each."""
BEFORE = 20
"""Characters of a long line that are shown before what differs: with their number they leave room for it."""
MOST = 500
"""Lines of either side, from the first that differs, among which it is looked which are the same."""
ABOVE = 3
"""Lines around what differs."""


def explained(found: Divergence) -> str:
    """Further lines to its sentence: the line of the agent's code, and both sides as lines of a `diff`.

    Nothing in them is more than a line, or anything that a terminal would obey.
    """
    return "\n".join(map(printable, _lines(found)))


def _lines(found: Divergence) -> Iterator[str]:
    raised = found.kind is Kind.RAISED
    if found.where is not None:
        yield f"{'raised' if raised else 'asked'} at {found.where}"
    if raised:
        return
    sides = [MISSING if side is None else side.value for side in (found.recorded, found.asked)]
    then, now = (found.expected, found.actual) if sides == [MISSING, MISSING] else sides
    difference = _difference(_laid_out(then), _laid_out(in_order_of(then, now)))
    shown = list(islice(difference, LINES))
    if shown:
        yield f"--- recorded{_title(found.recorded)}"
        yield f"+++ now{_title(found.asked)}"
    yield from shown
    if rest := sum(1 for _ in difference):
        yield f"… and {rest} more lines"


def _title(side: Asked | None) -> str:
    return "" if side is None else f": {side.title()}"


def _laid_out(value: object) -> list[str]:
    return [] if value is MISSING else lay_out(value).splitlines()


def _difference(then: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """What `diff -u` says of them, of long lines what is around the first place in which they differ."""
    shortest = min(len(then), len(now))
    first = next((at for at in range(shortest) if then[at] != now[at]), shortest)
    start = max(0, first - ABOVE)
    one, other = then[start : start + MOST], now[start : start + MOST]
    for group in SequenceMatcher(None, one, other, autojunk=False).get_grouped_opcodes(ABOVE):
        (_, i, _, k, _), (_, _, j, _, m) = group[0], group[-1]
        yield f"@@ -{_range(start + i, start + j)} +{_range(start + k, start + m)} @@"
        for kind, i, j, k, m in group:
            if kind == "equal":
                yield from (f" {_cut(line, 0)}" for line in one[i:j])
            else:
                yield from _replaced(one[i:j], other[k:m])
    left = max(len(then), len(now)) - start - MOST
    if left > 0:
        yield f"… {left:,} lines that follow are not compared"


def _range(start: int, stop: int) -> str:
    return f"{start + 1 if stop > start else start},{stop - start}"


def _replaced(then: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """Lines in place of others, each of a pair cut at the same place."""
    starts = [alike(*both) for both in zip_longest(then, now, fillvalue="")]
    yield from (f"-{_cut(line, start)}" for line, start in zip(then, starts, strict=False))
    yield from (f"+{_cut(line, start)}" for line, start in zip(now, starts, strict=False))


def _cut(line: str, at: int) -> str:
    """A line, of a long one what is around the character `at`."""
    start = at - BEFORE if len(line) > COLUMNS and at > BEFORE else 0
    left_out = f"… {start:,} characters … " if start else ""
    rest = len(line) - start - COLUMNS
    return f"{left_out}{line[start : start + COLUMNS]}{f'… {rest:,} more' if rest > 0 else ''}"
