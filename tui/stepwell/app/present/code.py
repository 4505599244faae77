"""Source code in colours: what looks like it, and the fenced blocks of Markdown."""

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from stepwell.app.present.documents import Row
from stepwell.app.present.spans import Line, Role, Span, indented, wrap_line
from stepwell.app.present.text import clean, wrap_range

# Pygments is loaded when there is code to show: the plain command line, which never does, starts without it.
if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

BLOCK_LINES = 100
"""Lines that are highlighted at a time."""
BLOCK_CHARACTERS = 8192
LONGEST_LINE = 1000
"""Longer lines are not code to be read, and some lexers take very long over them."""
HEAD = 2000
"""Characters at the beginning of a text by which it is told to be code."""

_LANGUAGES = {
    alias: name
    for name, aliases in {
        "python": "python py python3 py3",
        "pycon": "pycon",
        "json": "json jsonl json5",
        "sql": "sql postgres postgresql psql plpgsql",
        "bash": "bash sh shell zsh console",
        "javascript": "javascript js jsx",
        "typescript": "typescript ts tsx",
        "html": "html xml svg",
        "yaml": "yaml yml",
        "toml": "toml",
        "diff": "diff patch",
        "rust": "rust rs",
        "go": "go golang",
        "java": "java",
        "c": "c h",
        "cpp": "cpp c++ cc",
        "ruby": "ruby rb",
    }.items()
    for alias in aliases.split()
}
_ROLES = {
    "Comment": Role.COMMENT,
    "Literal.String": Role.STRING,
    "Literal.Number": Role.NUMBER,
    "Keyword": Role.KEYWORD,
    "Name.Function": Role.NAME,
    "Name.Class": Role.NAME,
    "Name.Decorator": Role.NAME,
    "Name.Tag": Role.NAME,
    "Name.Builtin": Role.NAME,
    "Name.Attribute": Role.KEY,
    "Generic.Inserted": Role.ADDED,
    "Generic.Deleted": Role.REMOVED,
    "Generic.Heading": Role.HEADING,
    "Generic.Subheading": Role.HEADING,
    "Generic.Error": Role.ERROR,
}
"""Kinds of tokens by their dotted names; one that is not here is shown as the nearest kind above it."""
_FENCE = re.compile(r" {0,3}(```+|~~~+)[ \t]*([\w+#.-]*)[^\n`]{0,80}$")
_PYTHON = re.compile(
    r"^(?:from \w[\w.]* import [\w(*]|import \w[\w.]*(?: as \w+)?\s*$|(?:async )?def \w+\(|class \w+[(:]"
    r"|@\w[\w.]*[\n(]|if __name__ ==|    return\b)",
    re.MULTILINE,
)
_DIFF = re.compile(r"(?:diff --git |--- [^\n]+\n\+\+\+ )")


def text_rows(text: str, width: int, role: Role = Role.PLAIN, indent: int = 0) -> Iterator[Row]:
    """Recorded text line by line, wrapped and indented, with what is code in it highlighted."""
    language = _guess(text[:HEAD])
    fence = ""
    block: list[str] = []
    size = 0
    for start, end in _ranges(text):
        mark = _FENCE.match(text, start, end) if end - start < 120 else None
        is_fence = mark is not None and (mark[1].startswith(fence) if fence else not language)
        is_code = bool(language) and not is_fence and end - start <= LONGEST_LINE
        if not is_code or len(block) >= BLOCK_LINES or size >= BLOCK_CHARACTERS:
            yield from _block(block, language, width, indent)
            block, size = [], 0
        if is_code:
            block.append(clean(text[start:end]))
            size += end - start
        elif mark and is_fence:
            fence, language = ("", "") if fence else (mark[1], _LANGUAGES.get(mark[2].lower(), ""))
            yield indented(indent, Span(clean(text[start:end]), Role.DIM))
        else:
            for piece in wrap_range(text, start, end, width - indent):
                yield indented(indent, Span(piece, role))
    yield from _block(block, language, width, indent)


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends, newlines left out."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield start, end
        start = end + 1
    yield start, len(text)


def _guess(head: str) -> str:
    """The language of a text that is code as a whole, or nothing."""
    if _DIFF.match(head):
        return "diff"
    return "python" if "```" not in head and len(_PYTHON.findall(head)) >= 2 else ""


def _block(block: list[str], language: str, width: int, indent: int) -> Iterator[Row]:
    """Rows of cleaned lines, highlighted together when the first of them is painted."""
    if not block:
        return
    paint = cache(partial(highlight, tuple(block), language))
    room = max(1, width - indent)
    for index, text in enumerate(block):
        for piece, _ in enumerate(wrap_line((Span(text),), room)):
            yield partial(_piece, paint, index, piece, room, indent)


def _piece(paint: Callable[[], tuple[Line, ...]], index: int, piece: int, room: int, indent: int) -> Line:
    spans = next(islice(wrap_line(paint()[index], room), piece, None))
    return indented(indent, *spans)


def highlight(block: tuple[str, ...], language: str) -> tuple[Line, ...]:
    """Cleaned lines of code with roles; the text of each stays exactly what it was."""
    rows: list[list[Span]] = [[]]
    for kind, value in _lexer(language).get_tokens("\n".join(block) + "\n"):
        role = _role(kind)
        first, *others = value.split("\n")
        rows[-1].append(Span(first, role))
        rows.extend([Span(other, role)] for other in others)
    painted = [tuple(span for span in row if span.text) for row in rows[: len(block)]]
    return tuple(
        line if "".join([span.text for span in line]) == text else (Span(text),)
        for text, line in zip(block, [*painted, *[()] * (len(block) - len(painted))], strict=True)
    )


@cache
def _lexer(language: str) -> "Lexer":
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language, stripnl=False, stripall=False, ensurenl=False)


@cache
def _role(kind: "_TokenType") -> Role:
    names = [".".join(kind[:length]) for length in range(len(kind), 0, -1)]
    return next((_ROLES[name] for name in names if name in _ROLES), Role.PLAIN)
