"""The widget of every pane: it shows what it is given, and repaints only what changed."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from runpy import run_path

from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot

from stepwell.app.present import Line, Role, Rows, Span, json_rows, raw
from stepwell.app.widgets.lines import STRIDE, Lines, Position
from tests.app.pressing import handled, press_keys

measure = run_path(str(Path(__file__).with_name("paint.py")))["measure"]

ROWS = 20


class PaneApp(App[None]):
    """One pane. `m` changes three of its rows, `n` none, `c` moves the cursor row."""

    CSS = "Screen { background: ansi_default; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("m", "change", ""), ("n", "same", ""), ("c", "cursor", "")]  # noqa: RUF012 - as Textual reads it

    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        self.turn = 0
        self.cursor = 0
        self.positions: list[Position] = []

    def compose(self) -> ComposeResult:
        yield Lines(id="pane")

    @property
    def pane(self) -> Lines:
        return self.query_one("#pane", Lines)

    def on_mount(self) -> None:
        self.action_same()

    def on_lines_moved(self, event: Lines.Moved) -> None:
        self.positions.append(event.position)

    def action_same(self) -> None:
        self.pane.fill(self.rows, cursor=self.cursor)

    def action_change(self) -> None:
        self.turn += 1
        self.action_same()

    def action_cursor(self) -> None:
        self.cursor += 1
        self.action_same()

    def rows(self, _: int, height: int) -> list[Line]:
        shown = range(min(ROWS, height))
        return [(Span(f"row {row} turn {self.turn if row in (3, 7, 11) else 0}"),) for row in shown]


def in_app(
    check: Callable[[PaneApp, Pilot[None]], Awaitable[None]], size: tuple[int, int] = (40, 10)
) -> None:
    async def run() -> None:
        app = PaneApp()
        async with app.run_test(size=size) as pilot:
            await handled(pilot)
            await check(app, pilot)

    asyncio.run(run())


def shown(pane: Lines) -> list[str]:
    return [pane.render_line(row).text.rstrip() for row in range(pane.size.height)]


def test_an_update_of_three_rows_writes_three_rows_in_one_paint() -> None:
    first, changed, same, moved = measure(PaneApp, ["m", "m", "n", "c"])
    for cost in (first, changed):
        assert cost.paints == 1
        assert cost.output.count(b"turn ") == 3
        assert cost.written < 3 * 80 + 150
    assert same.written == 0
    assert same.paints == 0
    assert moved.paints == 1
    assert moved.output.count(b"turn ") == 2


def test_without_colours_rows_are_painted_and_marked_all_the_same() -> None:
    changed, moved = measure(PaneApp, ["m", "c"], environment={"NO_COLOR": "1"})
    assert changed.output.count(b"turn 1") == 3
    assert b"\x1b[1;7" in moved.output


def test_every_row_is_as_wide_as_the_pane_and_has_a_style() -> None:
    async def check(app: PaneApp, pilot: Pilot[None]) -> None:
        app.pane.show([(Span("漢字" * 30, Role.KEY),), (Span("x" + "漢字" * 30),), (Span("short"),)])
        await handled(pilot)
        for row in range(app.pane.size.height):
            line = app.pane.render_line(row)
            assert line.cell_length == 40
            assert all(segment.style is not None for segment in line)

    in_app(check)


def test_a_document_opens_at_its_start_line_and_scrolls_to_both_ends() -> None:
    async def check(app: PaneApp, pilot: Pilot[None]) -> None:
        pane = app.pane
        pane.show(Rows([(Span(f"line {number}"),) for number in range(25)], start_line=12))
        assert shown(pane)[0] == "line 12"
        assert pane.position == Position(13, 22, 25, True)
        pane.move_lines(-1)
        assert shown(pane)[0] == "line 11"
        pane.move_pages(1)
        assert shown(pane)[-1] == "line 24"
        pane.move_home()
        assert shown(pane)[0] == "line 0"
        pane.move_end()
        await handled(pilot)
        assert shown(pane)[-1] == "line 24"
        assert app.positions[-1] == Position(16, 25, 25, True)

    in_app(check)


def test_the_end_of_a_long_document_is_reached_in_strides() -> None:
    text = json.dumps([{"number": number} for number in range(STRIDE * 3)])

    async def check(app: PaneApp, pilot: Pilot[None]) -> None:
        pane = app.pane
        pane.show(Rows(json_rows(text, 40)))
        assert not pane.position.complete
        pane.move_end()
        while not pane.position.complete:
            await handled(pilot)
        await handled(pilot)
        assert shown(pane)[-1] == f'{{"number": {STRIDE * 3 - 1}}}]'.rjust(len(shown(pane)[-1]))

    in_app(check)


def test_another_move_calls_the_search_for_the_end_off() -> None:
    async def check(app: PaneApp, pilot: Pilot[None]) -> None:
        pane = app.pane
        pane.show(Rows(json_rows(json.dumps(["ab cd"] * 20_000), 40)))
        pane.move_end()
        pane.move_lines(1)
        await handled(pilot)
        assert pane.position.first == 2
        assert not pane.position.complete

    in_app(check)


def test_a_resize_makes_the_content_anew_and_pads_what_was_given() -> None:
    async def check(app: PaneApp, pilot: Pilot[None]) -> None:
        pane = app.pane
        pane.fill(lambda width, _: raw("x" * 60, width))
        assert shown(pane)[:3] == ["x" * 40, "x" * 20, ""]
        await pilot.resize_terminal(60, 5)
        await handled(pilot)
        assert shown(pane) == ["x" * 60, "", "", "", ""]
        pane.show([(Span("given".ljust(60)),)])
        await pilot.resize_terminal(30, 8)
        await handled(pilot)
        assert shown(pane) == ["given", *[""] * 7]
        assert pane.render_line(0).cell_length == 30

    in_app(check)


def test_the_terminals_own_cursor_stands_on_the_current_row() -> None:
    async def check(app: PaneApp, pilot: Pilot[None]) -> None:
        await press_keys(pilot, ["c", "c"])
        assert app.cursor_position == Offset(0, 2)
        marked = app.pane.render_line(2)
        assert all(segment.style and segment.style.reverse for segment in marked)

    in_app(check)
