"""Documents: lines that are made when they are looked at.

Laying out (where a line begins and ends) is done once, in order, on demand; painting (which part has which
role) is done for the lines on the screen only. So a value of 10 MB opens at once, and stays small in memory.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Protocol

from stepwell.app.present.blocks import Blocks
from stepwell.app.present.spans import Line, Role, Span, indented, line_text
from stepwell.app.present.text import wrap_range

LONG = 1_000_000
"""Characters of a stored text from which on it is wrapped anywhere."""
AHEAD = 16
"""Lines of a part of a document that are laid out at a time."""
Row = Line | partial[Line]
"""A line, or what paints it."""


class Document(Protocol):
    """What a pane shows. Line numbers begin at 0."""

    @property
    def start_line(self) -> int:
        """The line to show first."""
        ...

    @property
    def known_lines(self) -> int:
        """How many lines are laid out so far."""
        ...

    @property
    def complete(self) -> bool:
        """Whether that is all of them."""
        ...

    def line(self, index: int) -> Line:
        """One line, laid out now if need be. Raises IndexError past the end."""
        ...

    def advance(self, budget: int) -> bool:
        """Lay out what costs about as much as `budget` further lines, and no fewer; true while there is more."""
        ...


class Rows:
    """The document of an iterator of rows."""

    def __init__(self, rows: Iterable[Row], start_line: int = 0) -> None:
        self._source: Iterator[Row] = iter(rows)
        self._rows: list[Row] = []
        self._complete = False
        self.start_line = start_line

    @property
    def known_lines(self) -> int:
        return len(self._rows)

    @property
    def complete(self) -> bool:
        return self._complete

    def line(self, index: int) -> Line:
        if index >= len(self._rows):
            self.advance(index + 1 - len(self._rows))
        if not 0 <= index < len(self._rows):
            raise IndexError(index)
        row = self._rows[index]
        return row() if isinstance(row, partial) else row

    def advance(self, budget: int) -> bool:
        wanted = len(self._rows) + budget
        self._rows.extend(islice(self._source, budget))
        self._complete = self._complete or len(self._rows) < wanted
        return not self._complete


def lines(document: Document) -> Iterator[Line]:
    """Every line of a document, first to last."""
    index = 0
    while True:
        try:
            yield document.line(index)
        except IndexError:
            return
        index += 1


def rows(document: Document) -> Iterator[Row]:
    """Every line of a document as a part of another one, painted when it is looked at."""
    done, more = 0, True
    while more or done < document.known_lines:
        more = document.advance(AHEAD)
        for index in range(done, document.known_lines):
            yield partial(document.line, index)
            done = index + 1


def plain_text(document: Document) -> Iterator[str]:
    """Every line as safe text without colours, for the plain command line and `$PAGER`."""
    return map(line_text, lines(document))


def wrapped(text: str, width: int, role: Role = Role.PLAIN, indent: int = 0) -> Iterator[Line]:
    """Recorded text line by line, each wrapped to `width` cells, `indent` blanks among them."""
    start, end = 0, text.find("\n")
    while True:
        stop = len(text) if end < 0 else end
        for piece in wrap_range(text, start, stop, width - indent):
            yield indented(indent, Span(piece, role))
        if end < 0:
            return
        start, end = end + 1, text.find("\n", end + 1)


def raw(text: str, width: int) -> Document:
    """The text as it is stored, wrapped; a long one anywhere, so that all of its lines take no memory."""
    return Rows(wrapped(text, width)) if len(text) <= LONG else Blocks(text, width)


def note(text: str, width: int, role: Role = Role.DIM) -> Document:
    """A few words in place of a value."""
    return Rows(wrapped(text, width, role))
