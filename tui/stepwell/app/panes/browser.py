"""The browser of watched tables: the list of them, what rows mean, and the story of one. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from stepwell.app.browsed import Browsed
from stepwell.app.panes.answer import replay_words, row_document
from stepwell.app.panes.bars import READ_ONLY, ends, keys_line
from stepwell.app.panes.heading import Position, where
from stepwell.app.panes.tables import NO_CHANGE_SEEN, is_unchanged, key_words, old_to_new, rows_words
from stepwell.app.panes.verdicts import (
    NOT_WATCHED,
    is_exact,
    table_words,
    verdict_role,
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
    cells,
    clean,
    clean_line,
    fit,
    line_cells,
    note,
    rows,
    wrap,
    wrap_line,
)
from stepwell.core.pages import Listing, Story, Touch
from stepwell.core.past import Certainty, Table, TableChanges
from stepwell.core.world import Replay

NAME_CELLS = 32
KEY_CELLS = 14
WHY_ROWS = 2
ERROR_ROWS = 4
STORY_CELLS = 400
"""Cells of a value among the changes of a row."""
LIST_KEYS = (("j/k", "table"), ("Enter", "its rows"), ("s", "SQL"), ("?", "keys"), ("q", "back"))
ROWS_KEYS = (
    ("j/k", "row"), ("h/l", "column"), ("Enter", "whole row"), ("/", "key"), ("Space", "page"), ("q", "back"),
    ("?", "keys"), ("g/G", "ends"), ("y", "copy"), ("s", "SQL"),
)  # fmt: skip
ROW_KEYS = (("j/k", "line"), ("Space", "page"), ("y", "copy"), ("s", "SQL"), ("?", "keys"), ("q", "back"))


@dataclass(frozen=True, slots=True)
class BrowserView:
    """What is known, but for the rows themselves."""

    place: str
    """The step and its moment: `7f3a:11 after`."""
    where: str
    """Role and database: `agents@db1`."""
    listing: Listing | None = None
    selected: int = 0
    """Which of the tables."""
    table: Table | None = None
    """The one that is opened, with what its rows are worth."""
    story: Story | None = None
    """The row that is shown whole."""
    replay: Replay | None = None
    """How what is shown was read."""
    message: str = ""
    error: str = ""
    waiting: bool = False
    """Something takes long to be read."""


def above_lines(view: BrowserView, width: int) -> list[Line]:
    """The title, and what is shown."""
    database = [Span(f"{clean(view.where)} {READ_ONLY}", Role.DIM)]
    return [
        ends([Span(f"tables at {clean(view.place)}", Role.HEADING)], database, width),
        *(_meaning(view.table, view.place, width) if view.table else ()),
    ]


def body_heading(view: BrowserView, browsed: Browsed | None, position: Position, width: int) -> Line:
    """`[ROWS] keys 17 to 34 ------- columns 1-4/9`"""
    if view.story is not None:
        name, label, part = "[ROW]", _key_words(view.story), where(position)
    elif browsed is not None and view.table is not None:
        name, label, part = "[ROWS]", keys_words(browsed), columns_words(browsed)
    else:
        name, label, part = "[TABLES]", "as of this step", ""
    label = clean_line(label, max(0, width - cells(name) - cells(part) - 6))
    rule = "-" * max(1, width - cells(name) - cells(label) - cells(part) - 3)
    return (Span(name, Role.HEADING), Span(f" {label} "), Span(rule, Role.DIM), Span(f" {part}"))


def _key_words(story: Story) -> str:
    return ", ".join(
        f"{name} {key_words((value,))}" for name, value in zip(story.table.key, story.key, strict=True)
    )


def below_lines(view: BrowserView, width: int) -> list[Line]:
    """What the list has no room for, status, which takes more than a row for what is wrong, and keys."""
    keys = ROW_KEYS if view.story else ROWS_KEYS if view.table else LIST_KEYS
    return [*_reason(view, width), *_status(view, width), keys_line(width, keys)]


def _reason(view: BrowserView, width: int) -> list[Line]:
    """Why the chosen table is not exact, where its row in the list is cut."""
    listing = view.listing
    if view.table or view.error or listing is None or not listing.tables:
        return []
    table = listing.tables[view.selected]
    if not listing_lines(listing, view.selected, width)[view.selected][-1].text.endswith(ELLIPSIS):
        return []
    pieces = list(wrap(f"{table_words(table)} {verdict_words(table)}", width))[:ERROR_ROWS]
    return [(Span(fit(piece, width), verdict_role(table)),) for piece in pieces]


def _status(view: BrowserView, width: int) -> list[Line]:
    if view.error:
        words = list(wrap(f"! {clean(view.error)}", width))
        if len(words) > ERROR_ROWS:
            words[ERROR_ROWS - 1 :] = [words[ERROR_ROWS - 1].rstrip() + ELLIPSIS]
        return [(Span(fit(piece, width), Role.ERROR),) for piece in words]
    if view.message or view.waiting:
        return [(Span(fit(clean(view.message) or "reading… Ctrl-C cancels", width)),)]
    return [(Span(fit(replay_words(view.replay, width) if view.replay else "", width)),)]


def listing_lines(listing: Listing, selected: int, width: int) -> list[Line]:
    """A row for each table: its name, what of it changed at the step, and how far it can be trusted."""
    if not listing.tables:
        return [(Span(piece, Role.DIM),) for piece in wrap(NOT_WATCHED, width)]
    names = [clean_line(table_words(table), NAME_CELLS) for table in listing.tables]
    changed = [_changed(listing, table) for table in listing.tables]
    name_cells, changed_cells = max(map(cells, names)), max(map(cells, changed))
    return [
        _table_line(at == selected, fit(name, name_cells), fit(words, changed_cells), table, width)
        for at, (name, words, table) in enumerate(zip(names, changed, listing.tables, strict=True))
    ]


def _table_line(chosen: bool, name: str, changed: str, table: Table, width: int) -> Line:
    head = (Span("> " if chosen else "  ", Role.HEADING), Span(name, Role.CURSOR if chosen else Role.KEY))
    line = (*head, Span(f"  {changed}  "))
    room = width - line_cells(line)
    if room < 1:
        return next(wrap_line(line, width))
    return (*line, Span(clean_line(verdict_words(table), room), verdict_role(table)))


def _changed(listing: Listing, table: Table) -> str:
    """`3 rows changed`, or `written` where not all were looked at; before the step had finished nothing has."""
    if listing.changes is None:
        return ""
    found = next((each for each in listing.changes if _is_of(each, table)), None)
    if found is None or found.table.verdict.certainty is Certainty.UNKNOWN:
        return "not known"
    if found.count or found.least:
        words = "written" if found.more else "changed"
        return f"{rows_words(found.count, least=found.least)} {words}"
    return "unchanged" if is_unchanged(found) else NO_CHANGE_SEEN


def _is_of(changes: TableChanges, table: Table) -> bool:
    return (changes.table.schema, changes.table.name) == (table.schema, table.name)


def _meaning(table: Table, place: str, width: int) -> list[Line]:
    """`orders as of 7f3a:11 after, exact`, or that the rows are today's, and why."""
    name = table_words(table)
    if table.verdict.certainty is Certainty.UNKNOWN:
        words = f"{name}: today's rows, not those of {place}: {clean(table.verdict.why)}"
    else:
        words = f"{name} as of {place}, {verdict_words(table)}"
    role = Role.HEADING if is_exact(table) else Role.ERROR
    lines: list[Line] = [(Span(piece, role),) for piece in wrap(words, width)]
    if len(lines) > WHY_ROWS:
        return [*lines[: WHY_ROWS - 1], (Span(clean_line(words[len(lines[0][0].text) :], width), role),)]
    return lines


def columns_words(browsed: Browsed) -> str:
    """`columns 1-4/9`, where not all of them are in view."""
    columns = browsed.result.where().partition("  ")[0]
    return columns if columns.startswith("columns") else ""


def keys_words(browsed: Browsed) -> str:
    """`17 to 34`, the keys of the first row and the last one in view, and whether these are the ends of the table."""
    result, page = browsed.result, browsed.page
    if not page.rows.rows:
        return "no rows"
    first, last = result.top, min(result.top + result.page, len(page.rows.rows)) - 1
    begin = ", from the first row" if browsed.at_start and first == 0 else ""
    end = ", to the last row" if browsed.at_end and last == len(page.rows.rows) - 1 else ""
    return f"{_short_key(page.key(first))} to {_short_key(page.key(last))}{begin}{end}"


def _short_key(key: tuple[str | None, ...]) -> str:
    return clean_line(",".join("NULL" if value is None else value for value in key), KEY_CELLS)


def story_document(story: Story, width: int) -> Document:
    """All columns with their whole values, and below at which steps the row was changed."""
    return Rows(_story(story, width))


def _story(story: Story, width: int) -> Iterator[Row]:
    if story.rows.rows:
        yield from rows(row_document(story.rows, 0, width))
    else:
        yield from rows(note("this row is not there any more", width))
    yield ()
    if story.table.verdict.certainty is Certainty.UNKNOWN:
        yield from rows(note("what became of it during the run is not known", width))
        return
    yield (Span(f"{'changed' if story.touches else NO_CHANGE_SEEN} during the run", Role.HEADING),)
    if story.more:
        yield from rows(note("changes older than these are left out", width))
    for touch in story.touches:
        yield from _touch(touch, story.table, width)


def _touch(touch: Touch, table: Table, width: int) -> Iterator[Row]:
    change = touch.change
    when = f"{'at' if touch.during else 'before'} {touch.step}"
    what = " added" if change.old is None else " deleted" if change.new is None else ""
    if not touch.known:
        what = " written, from what is not known"
    yield from wrap_line((Span(f"  {when}{what}  ", Role.KEY), Span(who_words(change), Role.DIM)), width)
    if touch.known and change.old is not None and change.new is not None:
        for name, old, new in zip(table.columns, change.old, change.new, strict=True):
            if old != new:
                head = Span(f"    {clean_line(name, NAME_CELLS)} ", Role.KEY)
                yield from wrap_line((head, *old_to_new(old, new, STORY_CELLS)), width)


def row_text(story: Story) -> str:
    """The row to be copied: a column a line."""
    return "".join(
        f"{name}\t{'' if value is None else value}\n"
        for row in story.rows.rows
        for name, value in zip(story.rows.columns, row, strict=True)
    )
