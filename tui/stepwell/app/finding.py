"""Which pane shows what a search found, and where in it."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import NamedTuple

from stepwell.app.geometry import Pane
from stepwell.app.marking import occurrences
from stepwell.app.panes.content import content
from stepwell.app.present import Blocks, Document, is_too_large, lines
from stepwell.app.view import View
from stepwell.core.search import folds_case, spellings
from stepwell.core.world import World

STRIDE = 2_000
"""Lines looked at between two looks at the keyboard: some 20 ms."""
TELL_EVERY = 20_000
"""Lines after which it is told how far it has got."""
PIECE = 2_000_000
"""Characters looked through between two looks at the keyboard: some 10 ms."""
BREATH = 0.001
"""Seconds between two strides, for everything else."""
PANES = (Pane.OUTPUT, Pane.INPUT, Pane.STATE)
"""In the order in which they are looked through."""


class Place(NamedTuple):
    """A line of a pane, counted from 0."""

    pane: Pane
    line: int


def find(
    view: View, world: World, panes: Sequence[tuple[Pane, Document | None, int]]
) -> Iterator[int | Place]:
    """Where `view.mark` first stands, after how many lines every so often; ends without a place for nowhere.

    `panes`: each with the document that it shows (None where it shows none at the moment) and its width.
    """
    looked = 0
    for pane, shown, width in panes:
        at = yield from _first_in(_text(view, world, pane), view.mark)
        if at is None:
            continue
        document = shown if shown is not None else content(view, world, pane, width).document
        if isinstance(document, Blocks):
            while (row := document.row_of(at)) is None:
                document.advance(STRIDE)
                yield 1
            yield Place(pane, row)
            return
        for parts in occurrences(lines(document), view.mark, width):
            if parts:
                yield Place(pane, parts[0].row)
                return
            looked += 1
            if looked % STRIDE == 0:
                yield looked


def _text(view: View, world: World, pane: Pane) -> str | None:
    """What holds the text if the pane does: None where that is not known, empty where the pane shows none of it."""
    payload = world.payload
    match pane:
        case Pane.INPUT:
            plain, exact = payload.input, payload.input_exact
        case Pane.OUTPUT if payload.error is None:
            plain, exact = payload.output, payload.output_exact
        case _:
            return None
    if pane in view.raw:
        return plain or ""
    if is_too_large(plain, exact):
        return ""
    return plain or "" if exact is None else None


def _first_in(text: str | None, mark: str) -> Generator[int, None, int | None]:
    """Where `mark` first stands in a text, 0 where there is none to look through, None for nowhere.

    Millions of lines are not laid out for nothing.
    """
    if text is None:
        return 0
    folds = folds_case(mark)
    sought = [each.lower() if folds else each for each in spellings(mark)]
    pattern = re.compile("|".join(map(re.escape, sought)), re.IGNORECASE if folds else 0)
    longest = max(map(len, sought))
    for start in range(0, len(text), PIECE):
        if start:
            yield 1
        piece = text[start : start + PIECE + longest - 1]
        if piece.isascii():  # quicker than the pattern
            folded = piece.lower() if folds else piece
            at = min((at for each in sought if (at := folded.find(each)) >= 0), default=-1)
        else:
            at = found.start() if (found := pattern.search(piece)) else -1
        if at >= 0:
            return start + at
    return None


class Finder:
    """Looks a little at a time, so that keys still work; the first stride at once."""

    def __init__(
        self,
        later: Callable[[float, Callable[[], None]], object],
        tell: Callable[[int], None],
        found: Callable[[Place | None], None],
    ) -> None:
        self._later = later
        self._tell = tell
        self._found = found
        self._search: Iterator[int | Place] | None = None

    @property
    def busy(self) -> bool:
        return self._search is not None

    def start(self, search: Iterator[int | Place]) -> None:
        """Look, instead of an older search that is under way."""
        self._search = search
        self._go_on(search)

    def stop(self) -> bool:
        """Leave it; whether there was anything to leave."""
        busy, self._search = self.busy, None
        return busy

    def _go_on(self, search: Iterator[int | Place]) -> None:
        if search is not self._search:
            return
        step = next(search, None)
        if isinstance(step, int):
            if step % TELL_EVERY == 0:
                self._tell(step)
            # Not `call_later`: a screen works through its own queue without letting anyone else have a turn.
            self._later(BREATH, lambda: self._go_on(search))
        else:
            self._search = None
            self._found(step)
