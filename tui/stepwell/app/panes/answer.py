"""What stands around the rows of an answer: what they mean, how they were read, and what is wrong. Pure."""

from collections.abc import Iterator, Sequence

from stepwell.app.panes.grid import NULL, quoted
from stepwell.app.panes.verdicts import verdict_role, verdict_words
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
    count,
    fit,
    inline,
    json_rows,
    line_cells,
    note,
    wrap,
    wrap_line,
)  # fmt: skip
from stepwell.app.present.code import text_rows
from stepwell.core import past
from stepwell.core.past import Answer, Certainty, Seen, Table
from stepwell.core.world import Replay
from stepwell.errors import StatementError

UNWATCHED = "no table is watched in this database: a query shows the rows of today"
NAME_CELLS = 24
CONTEXT = 20
"""Cells of a statement's line that stand before the place of an error at least, where the line is cut."""
_DOUBT = {Certainty.EXACT: 2, Certainty.UNCERTAIN: 1, Certainty.UNKNOWN: 0}


def meaning_lines(answer: Answer, place: str, width: int, most: int) -> list[Line]:
    """`as of 7f3a:11 after: stock uncertain: …; orders exact`: what is least certain first, in at most `most` rows."""
    known = answer.instant is not None
    items = [
        _seen(seen, answer.tables) for seen in sorted(answer.seen, key=_order) if known or seen.how != "today"
    ]
    if known:
        spans = [Span(f"as of {place}: {'' if items else 'no watched table is read'}")]
    else:
        spans = [_without_snapshot(place)]
    for at, item in enumerate(items):
        spans += [Span("; ")] * (at > 0 or not known) + [item]
    lines = list(_filled(spans, width))
    if len(lines) <= most:
        return lines
    *kept, last = lines[:most]
    return [*kept, (*next(wrap_line(last, max(1, width - 1))), Span(ELLIPSIS))]


def watched_lines(answer: Answer, place: str, width: int) -> list[Line]:
    """`as of 7f3a:11 after: 3 watched tables, 2 not exact`"""
    if answer.instant is None:
        return list(_filled([_without_snapshot(place)], width))[:1]
    return [(Span(fit(f"as of {place}: {_watched(answer.tables)}", width)),)]


def _without_snapshot(place: str) -> Span:
    return Span(f"{place} has no snapshot: today's rows", Role.ERROR)


def _order(seen: Seen) -> int:
    if seen.verdict is not None:
        return _DOUBT[seen.verdict.certainty]
    return 1 if seen.how == "opaque" else 0


def _seen(seen: Seen, tables: Sequence[Table]) -> Span:
    name, verdict = clean(seen.name), seen.verdict
    if seen.how == "today" and _has_past(seen.name, tables):
        return Span(f"{name} today: without its schema it is of this step", Role.ERROR)
    if seen.how == "past" and (verdict is None or verdict.certainty is Certainty.EXACT):
        return Span(f"{name} exact")
    word = verdict.certainty if verdict is not None and seen.how == "past" else seen.how
    why = f": {clean(verdict.why)}" if verdict is not None and verdict.why else ""
    return Span(f"{name} {word}{why}", Role.NEW if seen.how == "opaque" else Role.ERROR)


def _has_past(name: str, tables: Sequence[Table]) -> bool:
    """Whether a watched table of this whole name would be read as of the step without the schema."""
    found = next((table for table in tables if f"{table.schema}.{table.name}" == name), None)
    if found is None or found.verdict.certainty is Certainty.UNKNOWN:
        return False
    return sum(table.name == found.name for table in tables) == 1


def _watched(tables: Sequence[Table]) -> str:
    if not tables:
        return "no table is watched here"
    doubtful = sum(table.verdict.certainty is not Certainty.EXACT for table in tables)
    words = f"{count(len(tables))} watched table{'' if len(tables) == 1 else 's'}"
    return f"{words}, {count(doubtful)} not exact" if doubtful else f"{words}, exact"


def _filled(spans: Sequence[Span], width: int) -> Iterator[Line]:
    """The spans in rows, broken between words."""
    row: list[Span] = []
    for text, role in spans:
        room = width - line_cells(row)
        for at, piece in enumerate(wrap(text, width, first=max(1, room))):
            if at or (row and line_cells(row) + cells(piece.rstrip()) > width):
                yield tuple(row)
                row = []
            row.append(Span(piece, role))
    yield tuple(row)


def replay_words(replay: Replay, width: int) -> str:
    """`3 ms SERIALIZABLE READ ONLY DEFERRABLE, rolled back`, and whatever else there is to say about it."""
    rolled_back = ", rolled back" if replay.rolled_back else ""
    notes = "; ".join(map(clean, replay.notes))
    for level in (replay.isolation, replay.isolation.partition(" READ ONLY")[0]):
        words = f"{replay.milliseconds:.0f} ms {level}{rolled_back}" + (f": {notes}" if notes else "")
        if cells(words) <= width:
            break
    return words


def row_document(found: past.Rows, row: int, width: int) -> Document:
    """One row, a column a line, or below its name where it takes more than that."""
    return Rows(_row(found, row, width))


def _row(found: past.Rows, row: int, width: int) -> Iterator[Row]:
    names = [clean_line(name, NAME_CELLS) for name in found.columns]
    column = max(map(cells, names), default=0)
    for name, type_, value in zip(found.columns, found.types, found.rows[row], strict=True):
        title = Span(fit(clean_line(name, NAME_CELLS), column), Role.KEY)
        is_json = type_ in ("json", "jsonb")
        if value is None:
            yield (title, Span("  "), Span(NULL, Role.DIM))
        elif len(value) <= width and "\n" not in value and cells(clean(value)) <= width - column - 2:
            yield (title, Span("  "), *(inline(value) if is_json else (Span(clean(quoted(value))),)))
        else:
            yield from wrap_line(
                (Span(clean_line(name, 200), Role.KEY), Span(f"  {clean(type_)}", Role.DIM)), width
            )
            yield from json_rows(value, width, 2) if is_json else text_rows(value, width, indent=2)


def tables_document(tables: Sequence[Table], width: int) -> Document:
    """Every watched table and how far its rows can be trusted."""
    if not tables:
        return note(UNWATCHED, width)
    names = [clean_line(f"{table.schema}.{table.name}", NAME_CELLS) for table in tables]
    return Rows(_tables(tables, names, max(map(cells, names)), width))


def _tables(tables: Sequence[Table], names: Sequence[str], column: int, width: int) -> Iterator[Row]:
    for table, name in zip(tables, names, strict=True):
        start = f"{fit(name, column)}  "
        room = max(16, width - len(start))
        for at, piece in enumerate(wrap(verdict_words(table), room)):
            yield (Span(start if at == 0 else " " * cells(start)), Span(piece, verdict_role(table)))


def columns_document(table: Table, width: int) -> Document:
    """The columns of a watched table."""
    title = (
        Span(clean(f"{table.schema}.{table.name}"), Role.HEADING),
        Span("  "),
        Span(verdict_words(table), verdict_role(table)),
    )
    return Rows(
        [
            *wrap_line(title, width),
            *(
                (
                    Span(f"  {clean_line(name, width - 8)}"),
                    Span("  key" if name in table.key else "", Role.DIM),
                )
                for name in table.columns
            ),
        ]
    )


def refused_document(text: str, problem: StatementError, width: int) -> Document:
    """What the database has against a statement, the place in it marked."""
    lines: list[Line] = [(Span(piece, Role.ERROR),) for piece in wrap(f"! {clean(str(problem))}", width)]
    if problem.position is not None and 0 < problem.position <= len(text) + 1:
        lines += _pointed(text, problem.position - 1, width)
    for name, words in (("DETAIL", problem.detail), ("HINT", problem.hint)):
        if words and words.rstrip(".") not in str(problem):
            lines += [(Span(piece),) for piece in wrap(f"{name}: {clean(words)}", width)]
    if problem.sqlstate:
        lines.append((Span(f"SQLSTATE {clean(problem.sqlstate)}", Role.DIM),))
    return Rows(lines)


def _pointed(text: str, at: int, width: int) -> list[Line]:
    """The line of the statement that holds place `at`, and a caret below the place."""
    before = text[:at]
    start = before.rfind("\n") + 1
    end = text.find("\n", at)
    head, tail = clean(text[start:at]), clean(text[at : len(text) if end < 0 else end])
    name = f"LINE {before.count(chr(10)) + 1}: "
    room = max(1, width - len(name))
    if cells(head) + min(cells(tail), CONTEXT) > room:
        keep = max(0, room - CONTEXT - 1)
        while cells(head) > keep:
            head = head[-keep:] if cells(head[-keep:]) <= keep and keep else head[1:]
        head = "…" + head
    shown = fit(head + tail, room).rstrip()
    return [
        (Span(name, Role.DIM), Span(shown)),
        (Span(" " * (len(name) + cells(head))), Span("^", Role.ERROR)),
    ]
