"""The line of a statement that an error points into, as libpq shows it, for a statement other than the one sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from unicodedata import east_asian_width

WIDTH = 60
"""Columns that libpq shows of a line."""
RIGHT = 10
"""Columns that it keeps to the right of the place, where a line is cut there."""
_SHOWN = re.compile(r"LINE \d+: .*\n *\^")
_END = re.compile(r"\r\n|\r|\n")


def in_own_words(message: str, position: int, sent: str, instead: Sequence[tuple[str, str]]) -> str:
    """A message that shows a place in what was sent, counted from 1, with the statement of the agent's own in it.

    `instead` says what was sent in place of what, in its order. A message that shows no place stays as it is.
    """
    place, at = position - 1, 0
    for made, own in instead:
        at = sent.find(made, at)
        if at < 0:
            return message
        is_behind = place >= at + len(made)
        place = place + len(own) - len(made) if is_behind else min(place, at)
        sent = sent[:at] + own + sent[at + len(made) :]
        at += len(own)
    return _SHOWN.sub(lambda _: shown(sent, place), message, count=1)


def shown(text: str, place: int) -> str:
    """Two lines: that of the text which a place is in, counted from 0, and a mark below the place."""
    ends = list(_END.finditer(text))
    number = sum(end.start() < place for end in ends)
    begin = ends[number - 1].end() if number else 0
    line = text[begin : ends[number].start() if number < len(ends) else len(text)].replace("\t", " ")
    at = place - begin
    columns = [0, *accumulate(2 if east_asian_width(letter) in "WF" else 1 for letter in line)]
    first, last = _cut(columns, at)
    head = f"LINE {number + 1}: " + ("..." if first else "")
    tail = "..." if last < len(line) else ""
    return f"{head}{line[first:last]}{tail}\n{' ' * (len(head) + columns[at] - columns[first])}^"


def _cut(columns: Sequence[int], at: int) -> tuple[int, int]:
    """From which letter to which a line is shown, `columns` being where each begins."""
    first, last = 0, len(columns) - 1
    if columns[last] <= WIDTH:
        return first, last
    is_right = columns[at] + RIGHT > WIDTH
    while is_right and columns[at] + RIGHT < columns[last]:
        last -= 1
    while columns[last] - columns[first] > WIDTH:
        first, last = (first + 1, last) if is_right else (first, last - 1)
    return first, last
