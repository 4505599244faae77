"""A prompt as the conversation that it is: the new messages first in view, the earlier ones one line."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from stepwell.app.present.chat import Attachment, Call, Message, Odd, Part, Result, Text, message
from stepwell.app.present.code import text_rows
from stepwell.app.present.documents import Document, Row, Rows
from stepwell.app.present.figures import count
from stepwell.app.present.json_rows import inline, json_rows
from stepwell.app.present.spans import Role, Span, indented, wrap_line
from stepwell.app.present.text import clean, clean_line
from stepwell.app.present.values import dumps, loads

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "system": Role.SYSTEM}
_NAME_CELLS = 60
NOTHING: Mapping[str, object] = {}
_BLOCK = 400
"""Characters from which on an argument stands below its call."""
_PARSED = 200_000
"""Characters of a tool's answer up to which it is tried as JSON."""


def conversation(
    messages: Sequence[object],
    first_new: int,
    width: int,
    folded: bool = True,
    *,
    as_text: bool = False,
    besides: Mapping[str, object] = NOTHING,
) -> Document:
    """Recorded chat messages with a heading each; those from index `first_new` on are the new ones.

    `start_line` is the heading of the first new one. Folded, one line above it says how many there were
    before; unfolded, they are laid out in full. `as_text`: what a tool gave is not laid out as JSON though it may be.
    Messages of any shape are taken. What was given `besides` them, such as tools, stands below the last one.
    """
    first_new = min(max(first_new, 0), len(messages))
    earlier: list[Row] = []
    if first_new and folded:
        noun = "message" if first_new == 1 else "messages"
        earlier = [(Span(f"… {count(first_new)} earlier {noun}", Role.DIM),)]
    elif first_new:
        earlier = list(_messages(messages, 0, first_new, width, as_text=as_text))
    start = len(earlier) if first_new < len(messages) else 0
    said = _chain(earlier, messages, first_new, width, as_text)
    return Rows(chain(said, _also(besides, width)), start)


def _chain(
    earlier: Sequence[Row], messages: Sequence[object], first_new: int, width: int, as_text: bool
) -> Iterator[Row]:
    yield from earlier
    if first_new == len(messages):
        yield (Span("no new message" if messages else "no messages", Role.DIM),)
    yield from _messages(messages, first_new, len(messages), width, marks_new=first_new > 0, as_text=as_text)


def _messages(
    messages: Sequence[object],
    start: int,
    end: int,
    width: int,
    marks_new: bool = False,
    *,
    as_text: bool = False,
) -> Iterator[Row]:
    names = _call_names(messages)
    for index in range(start, end):
        yield from _message(message(messages[index]), names, width, marks_new, as_text)


def _call_names(messages: Sequence[object]) -> Mapping[str, str]:
    """Which tool each call id stands for: answers often carry the id alone."""
    return {
        part.call_id: part.name
        for recorded in messages
        for part in message(recorded).parts
        if isinstance(part, Call) and part.call_id
    }


def _message(
    said: Message, names: Mapping[str, str], width: int, is_new: bool, as_text: bool
) -> Iterator[Row]:
    parts = said.parts
    about = [said.name or names.get(said.call_id, ""), said.call_id]
    if len(parts) == 1 and isinstance(result := parts[0], Result) and said.role == "user":
        # Anthropic sends the answers of tools as the user's words.
        said = Message("tool", result.parts, call_id=result.call_id)
        about = [names.get(result.call_id, ""), result.call_id, "error" if result.is_error else ""]
        parts = result.parts
    heading = [Span(clean_line(said.role, _NAME_CELLS), _ROLES.get(said.role, Role.HEADING))]
    heading += [Span(" " + clean_line(word, _NAME_CELLS), Role.DIM) for word in about if word]
    if is_new:
        heading.append(Span(" new", Role.NEW))
    yield from wrap_line(tuple(heading), width)
    for part in parts:
        yield from _part(part, names, width, 1, as_data=said.role == "tool", as_text=as_text)
    yield from _also(said.others, width, 1)


def _also(others: Mapping[str, object], width: int, indent: int = 0) -> Iterator[Row]:
    """What stands beside what was said, as JSON."""
    if others:
        yield indented(indent, Span("also", Role.DIM))
        yield from json_rows(dumps(others), width, indent + 1)


def _part(
    part: Part, names: Mapping[str, str], width: int, indent: int, as_data: bool, as_text: bool
) -> Iterator[Row]:
    if isinstance(part, Text):
        if part.label:
            yield indented(indent, Span(clean_line(part.label), Role.DIM))
        indent += 1 if part.label else 0
        if as_data and not as_text and is_json(part.text):
            yield from json_rows(part.text, width, indent)
        else:
            yield from text_rows(part.text, width, Role.COMMENT if part.label else Role.PLAIN, indent)
    elif isinstance(part, Call):
        yield from call_rows(part.name, part.arguments, width, indent)
    elif isinstance(part, Result):
        words = filter(None, ["result", names.get(part.call_id, ""), part.call_id, "error" * part.is_error])
        line = indented(indent, Span(clean(" ".join(words)), Role.TOOL))
        yield from wrap_line(line, width)
        for inner in part.parts:
            yield from _part(inner, names, width, indent + 1, as_data=True, as_text=as_text)
    elif isinstance(part, Attachment):
        yield from wrap_line(indented(indent, Span(f"[{clean_line(part.label, 240)}]", Role.DIM)), width)
    elif isinstance(part, Odd):
        yield from json_rows(dumps(part.value), width, indent)


def is_json(text: str) -> bool:
    """Whether a text is, or is too long to be tried and begins like, an object or a list."""
    if not text.lstrip()[:1] or text.lstrip()[0] not in "[{":
        return False
    if len(text) > _PARSED:
        return True
    try:
        loads(text)
    except ValueError:
        return False
    return True


def call_rows(name: str, arguments: object, width: int, indent: int = 0) -> Iterator[Row]:
    """A tool call as `search_orders(query="…", limit=50)`; long arguments stand below it."""
    pairs = arguments if isinstance(arguments, Mapping) else {"": arguments}
    below: dict[str, object] = {}
    line = [Span(clean_line(name or "?", 200), Role.TOOL), Span("(")]
    for key, value in pairs.items():
        separator = ", " if len(line) > 2 else ""
        label = clean_line(str(key), _NAME_CELLS)
        line.append(Span(f"{separator}{label}=" if label else separator))
        text = "" if _is_block(value) else dumps(value)
        if _is_block(value) or len(text) > _BLOCK:
            below[label] = value
            line.append(Span("below", Role.DIM))
        elif arguments is not None:
            line.extend(inline(text))
    line.append(Span(")"))
    for position, piece in enumerate(wrap_line(tuple(line), width - indent - 2)):
        yield indented(indent + 2 if position else indent, *piece)
    for label, value in below.items():
        yield indented(indent + 1, Span(f"{label or 'arguments'}:", Role.KEY))
        if isinstance(value, str):
            yield from text_rows(value, width, Role.STRING, indent + 2)
        else:
            yield from json_rows(dumps(value), width, indent + 2)


def _is_block(value: object) -> bool:
    return isinstance(value, str) and (len(value) > _BLOCK or "\n" in value)
