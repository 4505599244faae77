"""The SQL screen around its rows and its editor, as a function of a view. Pure."""

from dataclasses import dataclass
from typing import Literal

from stepwell.app.panes.answer import meaning_lines, replay_words, watched_lines
from stepwell.app.panes.bars import READ_ONLY, ends, keys_line
from stepwell.app.panes.heading import Position, where
from stepwell.app.present import Line, Role, Span, cells, clean, clean_line, fit, wrap
from stepwell.app.result import Result
from stepwell.app.sql_commands import runs
from stepwell.core.past import Answer

MEANING_ROWS = 3
"""Rows that what the rows mean has at most, and fewer on a low screen."""
CAUTION_ROWS = 2
STATEMENT_CELLS = 8
"""Of the statement beside the number of its rows, at least."""
TYPING_KEYS = (
    ("Tab", "rows"), ("Esc", "back"), ("\\d", "tables"), ("\\?", "keys"), ("Up", "before"), ("PgDn", "scroll"),
    ("Ctrl-C", "cancel"), ("Ctrl-J", "new line"),
)  # fmt: skip
ROWS_KEYS = (
    ("j/k", "row"), ("h/l", "column"), ("Enter", "whole row"), ("Tab", "SQL"), ("q", "out"), ("?", "keys"),
    ("y/Y", "copy"), ("v", "pager"), ("g/G", "ends"), ("Space", "page"),
)  # fmt: skip
"""What is worth most first, as everywhere."""


About = Literal["answer", "tables", "nothing"]


@dataclass(frozen=True, slots=True)
class SqlView:
    """What is known, but for the rows themselves."""

    place: str
    """The step and its moment: `7f3a:11 after`."""
    where: str
    """Role and database: `agents@db1`."""
    answer: Answer | None = None
    """Of the last statement that was answered, also behind something else that is shown."""
    about: About = "tables"
    """What is shown: the answer, what is watched, or that there is none."""
    caution: str = ""
    """What this answer has to say about the role for the first time."""
    label: str = ""
    """What is shown in place of the rows; empty for the rows."""
    message: str = ""
    error: str = ""
    seconds: int | None = None
    """For how long what is under way has been; None where nothing is."""
    typing: bool = True
    """Whether the keys go to the editor."""


def above_lines(view: SqlView, width: int, height: int) -> list[Line]:
    """The title, and what the rows mean."""
    database = f"{clean(view.where)} {READ_ONLY}"
    title = ends([Span(f"SQL at {clean(view.place)}", Role.HEADING)], [Span(database, Role.DIM)], width)
    if view.answer is None:
        return [title, ()]
    most = min(MEANING_ROWS, max(1, height // 7))
    warning = list(wrap(f"! {clean(view.caution)}", width))[:CAUTION_ROWS] if view.caution else []
    return [
        title,
        *_meaning(view, view.answer, width, most),
        *((Span(fit(words, width), Role.NEW),) for words in warning),
    ]


def _meaning(view: SqlView, answer: Answer, width: int, most: int) -> list[Line]:
    """Of what is shown now, not of what was before it."""
    match view.about:
        case "answer":
            return meaning_lines(answer, view.place, width, most)
        case "tables":
            return watched_lines(answer, view.place, width)
        case "nothing":
            return [(Span(fit(f"as of {clean(view.place)}: nothing was read", width)),)]


def rows_heading(view: SqlView, result: Result | None, position: Position, width: int) -> Line:
    """`[ROWS] 12 rows: select … ------- all`; in brackets where the keys go there."""
    label, statement, part = view.label, "", where(position)
    if not label and result is not None:
        label, statement, part = result.told(), result.statement, result.where()
    name = "ROWS-" if view.typing else "[ROWS]"
    room = width - cells(name) - cells(label) - cells(part) - 8
    if statement and room >= STATEMENT_CELLS:
        label = f"{label}: {clean_line(' '.join(statement.split()), room)}"
    label = clean_line(label, max(0, width - cells(name) - cells(part) - 6))
    rule = "-" * max(1, width - cells(name) - cells(label) - cells(part) - 3)
    return (Span(name, Role.HEADING), Span(f" {label} "), Span(rule, Role.DIM), Span(f" {part}"))


def rule_line(view: SqlView, width: int) -> Line:
    """The line above the editor."""
    name = "[SQL]" if view.typing else "SQL-"
    return (Span(name, Role.HEADING), Span("-" * max(0, width - len(name)), Role.DIM))


def below_lines(view: SqlView, text: str, width: int) -> list[Line]:
    """Status and keys; `text` is what stands in the editor."""
    return [_status(view, width), _keys(view, text, width)]


def _status(view: SqlView, width: int) -> Line:
    if view.error:
        return (Span(fit(f"! {clean(view.error)}", width), Role.ERROR),)
    words = clean(view.message)
    if not words and view.seconds is not None:
        words = f"running{f' for {view.seconds} s' if view.seconds else ''}… Ctrl-C cancels"
    elif not words and view.answer is not None:
        words = replay_words(view.answer.replay, width)
    return (Span(fit(words, width)),)


def _keys(view: SqlView, text: str, width: int) -> Line:
    if not view.typing:
        return keys_line(width, ROWS_KEYS)
    return keys_line(width, (("Enter" if runs(text) else "; Enter", "run"), *TYPING_KEYS))
