"""Values as rows of a name and what it holds: a tool's arguments, the state of an agent; and differences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from stepwell.app.present.code import text_rows
from stepwell.app.present.conversation import conversation
from stepwell.app.present.documents import Document, Row, Rows, plain_text
from stepwell.app.present.figures import count
from stepwell.app.present.json_rows import inline, json_rows
from stepwell.app.present.spans import Line, Role, Span, line_cells, wrap_line
from stepwell.app.present.text import cells, clean, clean_line, fit, wrap_range
from stepwell.app.present.values import dumps
from stepwell.core.state import path_text, same
from stepwell.core.world import MISSING, Change

_KEY_CELLS = 20
_DIFFED_LINES = 4000
_MARKS = {"+": Role.ADDED, "-": Role.REMOVED, " ": Role.PLAIN, "?": Role.DIM}


def arguments_document(value: object, width: int) -> Document:
    """What a tool was given, one argument a row: `query  "broken lamp order 8841"`."""
    if not isinstance(value, Mapping) or not value:
        return Rows(json_rows(dumps(value), width))
    return Rows(_arguments(value, width))


def _arguments(pairs: Mapping[str, object], width: int) -> Iterator[Row]:
    column = _column(pairs)
    for key, value in pairs.items():
        name = Span(fit(clean_line(str(key)), column), Role.KEY)
        is_block = isinstance(value, str) and ("\n" in value or len(value) > width * 4)
        text = "" if is_block else dumps(value)
        if not is_block and len(text) <= width and cells(clean(text)) <= width - column - 2:
            yield (name, Span("  "), *inline(text))
            continue
        yield from wrap_line((Span(clean_line(str(key), 200), Role.KEY),), width)
        if is_block and isinstance(value, str):
            yield from text_rows(value, width, Role.STRING, 2)
        else:
            yield from json_rows(text, width, 2)


def _column(names: Iterable[str]) -> int:
    return min(_KEY_CELLS, max((cells(clean_line(str(name), _KEY_CELLS)) for name in names), default=0))


def state_document(
    state: object,
    set_at: Mapping[str, int],
    changed: Sequence[Change],
    width: int,
    full: bool = False,
) -> Document:
    """The state of one scope: what this step changed, old -> new, then a row a key with the step that set it.

    `changed` are the changes of that scope. A value is cut at the end of its row, or laid out below its key
    when `full`.
    """
    return Rows(_state(state, set_at, changed, width, full))


def _state(
    state: object, set_at: Mapping[str, int], changed: Sequence[Change], width: int, full: bool
) -> Iterator[Row]:
    for change in changed:
        yield from _change(change, width, full)
    if not isinstance(state, Mapping) or not state:
        if state is MISSING:
            yield (Span("no state yet", Role.DIM),)
        else:
            yield from json_rows(dumps(state), width)
        return
    touched = {change.path[0] for change in changed if len(change.path) == 1}
    column = _column(state)
    for key, value in state.items():
        if key not in touched or full:
            at = set_at.get(key)
            yield from _state_row(
                str(key), value, f"set @{at}" if at is not None else "", column, width, full
            )


def _state_row(key: str, value: object, note: str, column: int, width: int, full: bool) -> Iterator[Row]:
    name = (Span(fit(clean_line(key), column), Role.KEY), Span("  "))
    room = width - column - 2 - (len(note) + 2 if note else 0)
    text = dumps(value)
    if full and cells(clean(text[: width * 4])) > room:
        yield _noted((Span(clean_line(key, max(1, width - len(note) - 2)), Role.KEY),), note, width)
        yield from json_rows(text, width, 2)
        return
    yield _noted((*name, *inline(clean_line(text, max(1, room)))), note, width)


def _noted(line: Line, note: str, width: int) -> Line:
    """A line with a few words at its right end."""
    gap = width - line_cells(line) - len(note)
    return (*line, Span(" " * gap), Span(note, Role.DIM)) if note and gap > 0 else line


def _change(change: Change, width: int, full: bool) -> Iterator[Row]:
    path = path_text(change.path)
    head = Span(clean_line(path.removeprefix("$."), max(1, width // 3)), Role.NEW)
    old = Span("(not set)", Role.DIM) if change.old is MISSING else Span(dumps(change.old), Role.REMOVED)
    new = Span("(gone)", Role.DIM) if change.new is MISSING else Span(dumps(change.new), Role.ADDED)
    room = width - cells(head.text) - len("   -> ")
    sides = (
        _cut(old, room - _length(new, width), room, full),
        _cut(new, room - _length(old, width), room, full),
    )
    yield from wrap_line((head, Span("  "), sides[0], Span(" -> "), sides[1]), width)


def _length(side: Span, most: int) -> int:
    return cells(clean_line(side.text[:most]))


def _cut(side: Span, left: int, room: int, full: bool) -> Span:
    """What the other side leaves, or half of the row."""
    text = side.text
    is_whole = full and len(text) < 4000
    return Span(clean(text) if is_whole else clean_line(text, max(4, left, room // 2)), side.role)


def changes_document(changed: Sequence[Change], width: int) -> Document:
    """What a step changed in the state, old -> new, in full."""
    if not changed:
        return Rows([(Span("the same state as before", Role.DIM),)])
    return Rows(row for change in changed for row in _change(change, width, full=True))


def diff_document(pairs: Iterable[tuple[str, str]], width: int) -> Document:
    """Marked lines: `+` added, `-` removed, a blank for what is the same, `?` for words about the rest."""
    return Rows(_diff(pairs, width))


def _diff(pairs: Iterable[tuple[str, str]], width: int) -> Iterator[Row]:
    for mark, text in pairs:
        role = _MARKS.get(mark, Role.PLAIN)
        for piece in wrap_range(text, 0, len(text), width - 2):
            yield (Span(f"{mark} " if mark != "?" else "  ", role), Span(piece, role))


def prompt_diff(old: Sequence[object], new: Sequence[object], width: int) -> Iterator[tuple[str, str]]:
    """The pairs of `diff_document` for two prompts. Messages that both begin with are only counted."""
    kept = 0
    while kept < min(len(old), len(new)) and same(old[kept], new[kept]):
        kept += 1
    if kept:
        yield "?", f"{count(kept)} messages the same"
    before, after = (list(plain_text(conversation(side[kept:], 0, width - 2))) for side in (old, new))
    if not old[kept:] or not new[kept:] or len(before) + len(after) > _DIFFED_LINES:
        yield from (("-", line) for line in before if old[kept:])
        yield from (("+", line) for line in after if new[kept:])
        return
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from ((" ", line) for line in before[i:j])
        else:
            yield from (("-", line) for line in before[i:j])
            yield from (("+", line) for line in after[k:m])


def settings_diff(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The pairs of `diff_document` for what two prompts say besides their messages; of lists, item by item."""
    for name in {**old, **new}:
        before, after = old.get(name, MISSING), new.get(name, MISSING)
        if before is MISSING or after is MISSING or not same(before, after):
            by_item = isinstance(before, list) and isinstance(after, list)
            gone, come = ([] if side is MISSING else _texts(side, by_item) for side in (before, after))
            yield from (("-", clean(f"{name}: {text}")) for text in gone if text not in come)
            yield from (("+", clean(f"{name}: {text}")) for text in come if text not in gone)
            if set(gone) == set(come):
                yield "?", f"{clean(name)}: the same items in another order or number"


def _texts(value: object, by_item: bool) -> list[str]:
    return list(map(dumps, value)) if by_item and isinstance(value, list) else [dumps(value)]
