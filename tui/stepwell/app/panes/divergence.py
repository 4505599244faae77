"""Where the agent's code and the recording part: both sides, beside each other or one below the other. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from typing import NamedTuple

from stepwell.app.panes.bars import READ_ONLY, ends, keys_line
from stepwell.app.panes.tables import common_start
from stepwell.app.present import (
    Line,
    Role,
    Row,
    Rows,
    Span,
    cells,
    clean,
    clean_line,
    conversation,
    count,
    dumps,
    fit,
    line_cells,
    plain_text,
    wrap,
)  # fmt: skip
from stepwell.app.present.conversation import is_json
from stepwell.app.rerun import at_step, shortened
from stepwell.core.divergence import Asked, Divergence, Kind, in_order_of
from stepwell.core.lines import lay_out
from stepwell.core.prompts import messages_of, settings_of
from stepwell.core.steps import LLM_CALL
from stepwell.core.world import MISSING

BESIDE = 100
"""Columns from which the sides stand beside each other."""
MOST = 4_000
"""Lines of both sides, what they begin and end with alike left out, up to which it is looked which are the same."""
ABOVE = 2
"""Lines above the first that differs that are in view as well."""
LARGEST = 2_000_000
"""Characters of both sides from which on only what the path leads to is shown: more would hold up the keyboard."""
LONG_LINE = 4_000
"""Characters of one line that are shown."""
RECORDED, NOW = "-", "+"
MARK = 2
"""Cells of one of these and the space behind it."""
KEYS = (
    ("n/p", "difference"), ("z", "other layout"), ("Enter", "to its step"), ("q", "back"), ("?", "keys"),
    ("Space", "page"),
)  # fmt: skip


class Pair(NamedTuple):
    """A line of either side, None where that side has none there."""

    recorded: str | None
    now: str | None

    @property
    def same(self) -> bool:
        return self.recorded == self.now


def sides(found: Divergence, width: int) -> tuple[list[str], list[str]]:
    """The lines of what was recorded, and of what the agent asks now; of prompts no wider than `width`."""
    whole = [side.value for side in (found.recorded, found.asked) if side is not None]
    if not whole or sum(map(_size, whole)) > LARGEST:
        return _laid_out(found.expected), _laid_out(found.actual)
    asked = found.asked
    if found.recorded is not None and asked is not None:
        asked = replace(asked, value=in_order_of(found.recorded.value, asked.value))
    as_text = _is_of_one_side(found)
    return _lines(found.recorded, width, as_text), _lines(asked, width, as_text)


def _is_of_one_side(found: Divergence) -> bool:
    """Whether one of two texts is JSON and the other none, as where it was cut: laid out so, nothing would be alike."""
    both = found.expected, found.actual
    return len({is_json(text) for text in both if isinstance(text, str)}) == 2


def _size(value: object) -> int:
    """About how many characters it has."""
    if isinstance(value, dict):
        return sum(len(str(key)) + _size(item) for key, item in value.items()) + len(value)
    if isinstance(value, list):
        return sum(map(_size, value)) + len(value)
    return len(value) if isinstance(value, str) else 5


def _lines(asked: Asked | None, width: int, as_text: bool) -> list[str]:
    """A prompt as the conversation that it is, anything else as JSON."""
    if asked is None:
        return []
    messages = messages_of(asked.value) if asked.type == LLM_CALL else None
    if messages is None:
        return _laid_out(asked.value)
    settings = [f"{name}: {dumps(value)}" for name, value in settings_of(asked.value).items()]
    return [*settings, *plain_text(conversation(messages, 0, max(1, width), as_text=as_text))]


def _laid_out(value: object) -> list[str]:
    """JSON; of an object what each key has on lines of its own."""
    if value is MISSING:
        return []
    if not isinstance(value, dict) or not value:
        return lay_out(value).splitlines()
    return [line for key, item in value.items() for line in f"{key}: {lay_out(item)}".splitlines()]


def pairs(recorded: Sequence[str], now: Sequence[str]) -> list[Pair]:
    """The lines of two sides, those that are the same next to each other."""
    start, stop = 0, 0
    shortest = min(len(recorded), len(now))
    while start < shortest and recorded[start] == now[start]:
        start += 1
    while stop < shortest - start and recorded[-1 - stop] == now[-1 - stop]:
        stop += 1
    one, other = recorded[start : len(recorded) - stop], now[start : len(now) - stop]
    alike = [Pair(line, line) for line in recorded[:start]]
    return [*alike, *_between(one, other), *(Pair(line, line) for line in recorded[len(recorded) - stop :])]


def _between(one: Sequence[str], other: Sequence[str]) -> Iterator[Pair]:
    if len(one) + len(other) > MOST:
        yield from (Pair(*both) for both in zip_longest(one, other))
        return
    for kind, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (Pair(line, line) for line in one[i:j])
        else:
            yield from (Pair(*both) for both in zip_longest(one[i:j], other[k:m]))


class Sides(Rows):
    """Both sides of a divergence; `differences` are the rows at which a stretch that differs begins."""

    def __init__(self, found: Divergence, width: int, *, beside: bool) -> None:
        self.differences: list[int] = []
        lines = list(self._beside(found, width) if beside else self._below(found, width))
        first = self.differences[0] if self.differences else 0
        super().__init__(lines, max(0, first - ABOVE))
        self.advance(len(lines) + 1)

    def _beside(self, found: Divergence, width: int) -> Iterator[Row]:
        room = (width - 3) // 2
        at, differed = 0, False
        for pair in pairs(*sides(found, room - MARK)):
            left, right = _rows(pair, RECORDED, room), _rows(pair, NOW, room)
            if not pair.same and not differed:
                self.differences.append(at)
            differed = not pair.same
            for one, other in zip_longest(left, right, fillvalue=()):
                at += 1
                yield (*one, Span(" " * (room - line_cells(one))), Span(" | ", Role.DIM), *other)

    def _below(self, found: Divergence, width: int) -> Iterator[Row]:
        at, differed = 0, False
        for marked in _stretches(pairs(*sides(found, width - MARK))):
            for mark, pair in marked:
                if mark != " " and not differed:
                    self.differences.append(at)
                differed = mark != " "
                for line in _rows(pair, mark, width):
                    at += 1
                    yield line


def _stretches(found: Sequence[Pair]) -> Iterator[list[tuple[str, Pair]]]:
    """Lines with the side that they are of; of what differs in one stretch first all that was recorded."""
    gone: list[tuple[str, Pair]] = []
    come: list[tuple[str, Pair]] = []
    for pair in found:
        if pair.same:
            yield [*gone, *come, (" ", pair)]
            gone, come = [], []
            continue
        gone.append((RECORDED, pair))
        come.append((NOW, pair))
    yield [*gone, *come]


def _rows(pair: Pair, side: str, width: int) -> list[Line]:
    """A line of one side in as many rows as it takes, each of them marked where the sides differ."""
    text, other = (pair.now, pair.recorded) if side == NOW else (pair.recorded, pair.now)
    if text is None:
        return []
    if pair.same:
        mark, spans = Span("  "), _told_apart(text, text, Role.PLAIN)
    else:
        role = Role.REMOVED if side == RECORDED else Role.ADDED
        mark, spans = Span(f"{side} ", role), _told_apart(text, other, role)
    return [(mark, *piece) for piece in _in_words(spans, max(1, width - MARK))]


def _in_words(line: Line, width: int) -> Iterator[Line]:
    """A line in pieces of at most `width` cells, broken after a space where there is one."""
    at = 0
    for piece in wrap("".join(span.text for span in line), width):
        yield tuple(_part(line, at, at + len(piece) - (cells(piece) > width)))
        at += len(piece)


def _part(line: Line, start: int, end: int) -> Iterator[Span]:
    at = 0
    for text, role in line:
        if part := text[max(0, start - at) : max(0, end - at)]:
            yield Span(part, role)
        at += len(text)


def _told_apart(text: str, other: str | None, role: Role) -> Line:
    """The part in which a line differs from its other side in a role of its own; of a long line what is around that."""
    if other is None:
        start, end = 0, len(text)
    else:
        start = common_start(text, other)
        end = len(text) - min(common_start(text[::-1], other[::-1]), min(len(text), len(other)) - start)
    first = 0 if len(text) <= LONG_LINE or start == len(text) else max(0, start - LONG_LINE // 2)
    last = min(len(text), first + LONG_LINE)
    parts = ((first, start, Role.PLAIN), (start, end, role), (end, last, Role.PLAIN))
    return (
        *_left_out(first),
        *(Span(clean(text[a : min(b, last)]), own) for a, b, own in parts if a < min(b, last)),
        *_left_out(len(text) - last),
    )


def _left_out(number: int) -> Line:
    return (Span(f"… {count(number)} characters … ", Role.DIM),) if number else ()


def title_line(found: Divergence, run: str, width: int) -> Line:
    """`DIVERGED at 6  refund-triage 7f3a  asked at agent.py:31 in triage          READ ONLY`"""
    did = "raised" if found.kind is Kind.RAISED else "asked"
    at = "" if found.where is None else f"  {did} at {clean(shortened(found.where))}"
    left = [Span(at_step("DIVERGED", found), Role.ERROR), Span(f"  {clean(run)}{at}", Role.HEADING)]
    return ends(left, [Span(READ_ONLY, Role.DIM)], width)


def told_lines(told: str, width: int, most: int = 3) -> list[Line]:
    """What differs, and its path, in words."""
    return [(Span(piece, Role.ERROR),) for piece in islice(wrap(clean(told), width), most)]


def heads_line(found: Divergence, width: int, *, beside: bool) -> Line:
    """Which side is which."""
    recorded, now = (
        f"{mark} {when}: {_named(side)}"
        for mark, when, side in ((RECORDED, "recorded", found.recorded), (NOW, "now", found.asked))
    )
    if not beside:
        return (Span(fit(f"{recorded}    {now}", width), Role.HEADING),)
    room = (width - 3) // 2
    text = f"{fit(recorded, room)} | {fit(now, width - room - 3)}"
    return (Span(text, Role.HEADING),)


def _named(side: Asked | None) -> str:
    return "nothing" if side is None else clean_line(side.title(), 60)


def below_line(position: str, width: int) -> Line:
    """The keys, and which lines are in view."""
    right = [Span(f" {position}")]
    return (*keys_line(width - line_cells(right), KEYS), *right)
