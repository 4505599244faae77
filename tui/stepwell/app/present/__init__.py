"""The one place where recorded values become terminal text: made safe, cut, laid out and given roles.

Used by the widgets and by the plain command line alike, so it knows nothing of Textual.
"""

from enum import StrEnum

from stepwell.app.present.blocks import Blocks
from stepwell.app.present.chat import prompt_messages, reply_messages
from stepwell.app.present.conversation import call_rows, conversation
from stepwell.app.present.documents import Document, Row, Rows, lines, note, plain_text, raw, rows
from stepwell.app.present.figures import age, clock, count, duration, size
from stepwell.app.present.json_rows import inline, json_rows, list_rows
from stepwell.app.present.spans import Line, Role, Span, line_cells, line_text, style, wrap_line
from stepwell.app.present.tables import (
    arguments_document,
    changes_document,
    diff_document,
    prompt_diff,
    settings_diff,
    state_document,
)
from stepwell.app.present.text import ELLIPSIS, cells, clean, clean_line, clean_lines, fit, wrap
from stepwell.app.present.values import dumps, elements, is_too_large, json_text, loads, value

__all__ = [
    "ELLIPSIS",
    "Blocks",
    "Document",
    "Line",
    "Mode",
    "Role",
    "Row",
    "Rows",
    "Span",
    "age",
    "arguments_document",
    "call_rows",
    "cells",
    "changes_document",
    "clean",
    "clean_line",
    "clean_lines",
    "clock",
    "conversation",
    "count",
    "diff_document",
    "document",
    "dumps",
    "duration",
    "fit",
    "inline",
    "is_too_large",
    "json_rows",
    "json_text",
    "line_cells",
    "line_text",
    "lines",
    "loads",
    "note",
    "plain_text",
    "prompt_diff",
    "prompt_messages",
    "raw",
    "reply_messages",
    "rows",
    "settings_diff",
    "size",
    "state_document",
    "style",
    "value",
    "wrap",
    "wrap_line",
]


class Mode(StrEnum):
    """How a value is shown."""

    PRETTY = "pretty"
    RAW = "raw"


def document(plain: str | None, exact: str | None, width: int, mode: Mode = Mode.PRETTY) -> Document:
    """A stored value: its JSON text, and the text that holds what JSONB could not keep, if there is one.

    `plain` None is the SQL NULL of a step that never finished. Laid out lazily: the first screen of a value
    of any size costs what the screen holds. Never raises for what the texts are.
    """
    if plain is None:
        return note("nothing recorded: it never finished", width)
    if mode is Mode.RAW:
        return raw(plain if exact is None else exact, width)
    try:
        texts = None if exact is None else elements(plain, exact)
        if texts is not None:
            return Rows(list_rows(texts, width))
        return Rows(json_rows(json_text(plain, exact), width))
    except ValueError:
        return raw(plain, width)
