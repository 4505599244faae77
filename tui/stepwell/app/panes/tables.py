"""What TABLES holds: which rows of watched tables a step changed, from what to what, and who did. Pure."""

from collections.abc import Iterator, Sequence

from stepwell.app.panes.grid import shown
from stepwell.app.panes.verdicts import (
    NOT_WATCHED,
    is_exact,
    table_words,
    verdict_words,
    who_words,
)
from stepwell.app.present import (
    ELLIPSIS,
    Document,
    Line,
    Role,
    Row,
    Rows,
    Span,
    clean_line,
    count,
    line_cells,
    note,
    wrap,
    wrap_line,
)
from stepwell.app.view import View
from stepwell.core.past import Certainty, RowChange, StepChanges, Table, TableChanges, Verdict
from stepwell.core.world import Moment, World

ALIKE = 8
"""Characters before the first difference of two long values that are shown."""
LONGEST = 4_000
"""Characters of a value that are shown where it is not cut to its row."""
WIDE = 45
"""Columns from which there is room for all words of the heading."""
NAMED = 6
"""Tables of which the same is told that are named."""
NO_CHANGE_SEEN = "no change is seen"
"""Of a table whose rows are uncertain: there may have been one."""
NO_SNAPSHOT = "this step was recorded without a snapshot: what changed in the tables is not known"


def tables_pane(view: View, world: World, width: int) -> tuple[str, Document]:
    """Label and document of the pane."""
    if world.moment is Moment.ASKED:
        return "nothing yet", note("what it changed came after this moment; a shows it", width)
    if view.changes_of is not world or view.changes is None:
        return "reading", note(f"reading what changed at {world.number}…; Ctrl-C cancels", width)
    if isinstance(view.changes, str):
        words = f"it could not be read: {clean_line(view.changes, 1000)}; t twice tries again"
        return "not read", note(words, width, Role.ERROR)
    full = view.zoomed
    return changes_label(view.changes, width), changes_document(
        view.changes, width, full=full, doubt=_doubt(view, world)
    )


def _doubt(view: View, world: World) -> str:
    """Why there is no moment after the step; empty where there is one."""
    if not world.step.in_doubt:
        return ""
    if view.timeline.running:
        return "still running: what it changes is told when it has finished"
    return "in doubt: it has no end, so what changed since it began is not known"


def changes_label(changes: StepChanges, width: int = WIDE) -> str:
    """`3 rows, before to after 11`: what is worth most first, since few columns hold no more.

    Where not all tables are exact, that takes the place of the instants: `2 rows, 3 tables not exact`.
    """
    doubts = [each.table.verdict.certainty for each in changes.tables if not is_exact(each.table)]
    unknown = [certainty is Certainty.UNKNOWN for certainty in doubts]
    if changes.before is None or changes.after is None or sum(unknown) == len(changes.tables):
        return f"not known at {changes.number}"
    found, least = sum(each.count for each in changes.tables), any(each.least for each in changes.tables)
    rows, words = found or least, rows_words(found, least=least)
    if not doubts:
        return f"{words if rows else 'unchanged'}, before to after {changes.number}"
    number = count(len(doubts))
    if width < WIDE:
        return f"{words if rows else '0 seen'}, {number} {'unknown' if all(unknown) else 'inexact'}"
    tables = f" table{'' if len(doubts) == 1 else 's'}" if rows else ""
    worth = "known" if all(unknown) else "exact"
    return f"{words if rows else 'no change seen'}, {number}{tables} not {worth}"


def rows_words(number: int, *, least: bool) -> str:
    """`1 row`, `20,000+ rows`: the sign where there may be more."""
    return f"{count(number)}{'+' if least else ''} row{'' if number == 1 and not least else 's'}"


def changes_document(changes: StepChanges, width: int, *, full: bool = False, doubt: str = "") -> Document:
    """A row or a few for each changed row, then doubts, then what is unchanged. `full`: no value is cut to its row."""
    if not changes.tables:
        return note(NOT_WATCHED, width)
    if doubt:
        return note(doubt, width, Role.ERROR)
    if changes.before is None or changes.after is None:
        return note(NO_SNAPSHOT, width)
    return Rows(_changes(changes, width, full))


def _changes(changes: StepChanges, width: int, full: bool) -> Iterator[Row]:
    for each in changes.tables:
        yield from _of_table(each, width, full)
    for words in _doubts(changes.tables):
        yield from ((Span(piece, Role.ERROR),) for piece in wrap(words, width))
    if quiet := [each.table for each in changes.tables if is_unchanged(each)]:
        yield from ((Span(piece, Role.DIM),) for piece in wrap(f"no row changed in {_named(quiet)}", width))


def is_unchanged(changes: TableChanges) -> bool:
    """Whether it is known that no row of it changed."""
    return is_exact(changes.table) and not changes.count and not changes.least


def _doubts(tables: Sequence[TableChanges]) -> Iterator[str]:
    """`hold, big unknown: this role may not read the table`: why each is not exact, once for each reason."""
    found: dict[tuple[Verdict, bool], list[Table]] = {}
    for each in tables:
        if not is_exact(each.table):
            found.setdefault((each.table.verdict, each.count > 0), []).append(each.table)
    for (verdict, is_changed), alike in found.items():
        names, words = _named(alike), verdict_words(alike[0])
        if is_changed or verdict.certainty is Certainty.UNKNOWN:
            yield f"{names} {words}"
        else:
            yield f"{NO_CHANGE_SEEN} in {names}, {words}"


def _named(tables: Sequence[Table]) -> str:
    names = ", ".join(table_words(table) for table in tables[:NAMED])
    more = len(tables) - NAMED
    return f"{names} and {count(more)} tables more" if more > 0 else names


def _of_table(changes: TableChanges, width: int, full: bool) -> Iterator[Row]:
    for change in changes.changes:
        yield from _change(changes.table, change, width, full)
    if changes.more or (changes.least and not changes.changes):
        rows = rows_words(changes.more, least=changes.least)
        yield (Span(clean_line(f"and {rows} more of {table_words(changes.table)} written", width), Role.DIM),)


def _change(table: Table, change: RowChange, width: int, full: bool) -> Iterator[Row]:
    """In one row where it fits, else a row for what it is about and one for each column."""
    mark = "+" if change.old is None else "-" if change.new is None else " "
    role = Role.ADDED if change.old is None else Role.REMOVED if change.new is None else Role.KEY
    head = Span(clean_line(f"{mark} {table_words(table)} {key_words(change.key)}", max(8, width - 4)), role)
    who = Span(who_words(change), Role.NEW if change.mine is False else Role.DIM)
    parts = list(_columns(table, change, width, full))
    apart = [span for part in parts for span in (Span("  "), *part)]
    if line_cells((head, *apart, who)) + 2 <= width:
        yield _beside((head, *apart), who, width)
        return
    if line_cells((head, who)) + 2 <= width:
        yield _beside((head,), who, width)
    else:
        yield from ((head,), (Span("  "), Span(clean_line(who.text, max(1, width - 2)), who.role)))
    if full or (change.old is not None and change.new is not None):
        for part in parts:
            yield from wrap_line((Span("    "), *part), width)
    elif apart:
        yield from _cut((Span("  "), *apart), width)


def _beside(line: Line, words: Span, width: int) -> Line:
    """A line, and words at its right end; both fit."""
    return (*line, Span(" " * (width - line_cells((*line, words)))), words)


def _cut(line: Line, width: int) -> Iterator[Line]:
    """In one row, with a sign that there is more."""
    if line_cells(line) <= width:
        yield line
    else:
        yield (*next(wrap_line(line, max(1, width - 1))), Span(ELLIPSIS))


def key_words(key: Sequence[str | None]) -> str:
    """`8841`, or `(8841, lamp)` for a key of several columns; not yet cleaned."""
    values = [shown(value, LONGEST) for value in key]
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


def _columns(table: Table, change: RowChange, width: int, full: bool) -> Iterator[Line]:
    """A part for each column: those that differ, or all that are not in the key of a row that is new or gone."""
    room = LONGEST if full else max(8, width // 3)
    if change.old is not None and change.new is not None:
        for name, old, new in zip(table.columns, change.old, change.new, strict=True):
            if old != new:
                yield (Span(f"{clean_line(name, room)} ", Role.KEY), *old_to_new(old, new, room))
        return
    for name, value in zip(table.columns, change.new or change.old or (), strict=True):
        if name not in table.key:
            yield (Span(f"{clean_line(name, room)}=", Role.KEY), Span(_shown(value, room)))


def old_to_new(old: str | None, new: str | None, room: int) -> Line:
    """Two values, each in at most `room` cells: long ones from shortly before where they differ."""
    skipped = 0
    if old is not None and new is not None and max(len(old), len(new)) > room:
        skipped = max(0, common_start(old, new) - ALIKE)
    more = ELLIPSIS if skipped else ""
    was, now = (_shown(value if value is None else more + value[skipped:], room) for value in (old, new))
    return (Span(was, Role.REMOVED), Span(" -> "), Span(now, Role.ADDED))


def _shown(value: str | None, room: int) -> str:
    """An empty text would not be seen."""
    return "''" if value == "" else shown(value, room)


def common_start(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
