"""Lines of text with roles, and the one place where a role becomes a style.

Colours are names of the ANSI palette, so that the user's own theme decides what they look like. Whatever a
colour says is said by a letter, a word, bold or reverse too: `NO_COLOR` loses nothing.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from rich.style import Style

from stepwell.app.present.text import cells, reach


class Role(StrEnum):
    """What a piece of text is."""

    PLAIN = "plain"
    KEY = "key"
    STRING = "string"
    NUMBER = "number"
    KEYWORD = "keyword"
    NAME = "name"
    PUNCTUATION = "punctuation"
    COMMENT = "comment"
    HEADING = "heading"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"
    NEW = "new"
    ADDED = "added"
    REMOVED = "removed"
    ERROR = "error"
    CURSOR = "cursor"
    DIM = "dim"


_STYLES = {
    Role.PLAIN: Style(),
    Role.KEY: Style(color="cyan"),
    Role.STRING: Style(color="green"),
    Role.NUMBER: Style(color="magenta"),
    Role.KEYWORD: Style(color="magenta", bold=True),
    Role.NAME: Style(color="blue"),
    Role.PUNCTUATION: Style(),
    Role.COMMENT: Style(dim=True, italic=True),
    Role.HEADING: Style(bold=True),
    Role.USER: Style(color="green", bold=True),
    Role.ASSISTANT: Style(color="cyan", bold=True),
    Role.TOOL: Style(color="yellow", bold=True),
    Role.SYSTEM: Style(color="magenta", bold=True),
    Role.NEW: Style(color="yellow", bold=True),
    Role.ADDED: Style(color="green", bold=True),
    Role.REMOVED: Style(color="red", dim=True),
    Role.ERROR: Style(color="red", bold=True),
    Role.CURSOR: Style(reverse=True, bold=True),
    Role.DIM: Style(dim=True),
}
_COLOURLESS = {role: style.without_color for role, style in _STYLES.items()}


def style(role: Role, colours: bool = True) -> Style:
    """The style of a role; without colours it keeps bold, dim, reverse and the like."""
    return (_STYLES if colours else _COLOURLESS)[role]


class Span(NamedTuple):
    """Cleaned text in one role."""

    text: str
    role: Role = Role.PLAIN


Line = tuple[Span, ...]


def line_text(line: Iterable[Span]) -> str:
    """A line without its roles, blanks at its end left off."""
    return "".join([span.text for span in line]).rstrip(" ")


def line_cells(line: Iterable[Span]) -> int:
    """How many cells a line takes."""
    return sum([cells(span.text) for span in line])


def indented(indent: int, *spans: Span) -> Line:
    """The spans, `indent` blanks before them."""
    return (Span(" " * indent), *spans) if indent else spans


def wrap_line(line: Line, width: int) -> Iterator[Line]:
    """A line in pieces of at most `width` cells, broken anywhere, which joined give it back."""
    piece: list[Span] = []
    room = width
    for text, role in line:
        rest = text
        while cells(rest) > room:
            head = rest[: reach(rest, 0, room)]
            if not head and not piece:
                head = rest[:1]
            yield (*piece, Span(head, role)) if head else tuple(piece)
            piece, room, rest = [], width, rest[len(head) :]
        piece.append(Span(rest, role))
        room -= cells(rest)
    yield tuple(piece)
