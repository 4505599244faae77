"""The breakpoint manager: what it shows, and what becomes of the breakpoints."""

from dataclasses import replace
from uuid import UUID

from textual.pilot import Pilot

from stepwell.app.panes.breakpoints import bookmark_lines
from stepwell.app.present import line_text
from stepwell.app.screens.breakpoints import BreakpointsScreen
from stepwell.core.breakpoints import Breakpoint, OnError, OnLap, OnName, OnType
from stepwell.core.steps import LLM_CALL, TOOL_CALL, RunHead, StepHead
from stepwell.core.timeline import Timeline, build
from tests.app.listed import ScreenApp, drive, text_of
from tests.app.pressing import handled, press_keys

SEARCH, ERRORS = Breakpoint(OnName("search_orders")), Breakpoint(OnError(), enabled=False)
HOSTILE = "\x1b]52;c;cm0=\x07[b]"


def timeline(*points: Breakpoint) -> Timeline:
    """Two searches and a model call that raised."""
    steps = [
        StepHead(1, TOOL_CALL, True, name="search_orders"),
        StepHead(2, LLM_CALL, name="gpt-5-mini", error="Timeout: 30 s"),
        StepHead(3, TOOL_CALL, True, name="search_orders"),
    ]
    return build(RunHead(UUID(int=1), "failed", "refund-triage", steps=3), steps, breakpoints=points)


def managed(points: tuple[Breakpoint, ...], *keys: str, height: int = 24) -> tuple[list[str], object]:
    """The rows of the manager after some keys, and what it dismisses with on `q`."""
    app = ScreenApp(BreakpointsScreen(timeline(*points)))
    rows: list[str] = []

    async def act(pilot: Pilot[object]) -> None:
        await handled(pilot)
        await press_keys(pilot, keys)
        await handled(pilot)
        rows.extend(text_of(app.screen))
        while app.screen is not app.under_test:
            await press_keys(pilot, ["q"])
            await handled(pilot)
        await press_keys(pilot, ["q"])
        await handled(pilot)

    drive(app, act, (80, height))
    return rows, app.results[-1]


def test_each_breakpoint_has_its_state_and_its_hits_in_this_run() -> None:
    rows, _ = managed((SEARCH, ERRORS))
    assert rows[0].split()[0] == "breakpoints"
    assert rows[0].endswith("kept for runs named refund-triage")
    assert rows[1:4] == [
        "   STATE  HITS  STOPS AT",
        ">  on        2  search_orders  (name:search_orders)",
        "   off       1  errors  (error)",
    ]


def test_nothing_changes_by_looking() -> None:
    assert managed((SEARCH, ERRORS), "j", "k")[1] == (SEARCH, ERRORS)


def test_enter_and_space_switch_the_selected_one() -> None:
    rows, points = managed((SEARCH, ERRORS), "enter", "j", "space")
    assert points == (Breakpoint(SEARCH.condition, enabled=False), Breakpoint(ERRORS.condition))
    assert rows[-2] == "on: errors"


def test_d_deletes_the_selected_one_and_says_how_to_bring_it_back() -> None:
    rows, points = managed((SEARCH, ERRORS), "d")
    assert points == (ERRORS,)
    assert rows[2].startswith(">  off")
    assert rows[-2] == "deleted: search_orders; a and name:search_orders bring it back"


def test_the_last_one_can_go_too() -> None:
    rows, points = managed((SEARCH,), "d", "d", "enter", "j")
    assert points == ()
    assert rows[2] == "no breakpoints: a adds one, or b at a step of the run"


def test_a_adds_by_text() -> None:
    rows, points = managed((SEARCH,), "a", *"lap", "colon", "3", "enter")
    assert points == (SEARCH, Breakpoint(OnLap(3)))
    assert rows[3] == ">  on        0  lap 3 of a loop  (lap:3)"
    assert rows[-2] == "lap 3 of a loop: 0 hits in this run"


def test_what_is_there_already_is_selected_and_not_added_again() -> None:
    rows, points = managed((SEARCH, ERRORS), "a", *"error", "enter")
    assert points == (SEARCH, ERRORS)
    assert rows[3].startswith(">  off")


def test_what_is_no_breakpoint_is_said_in_one_line() -> None:
    rows, points = managed((SEARCH,), "a", *"what", "enter")
    assert points == (SEARCH,)
    assert rows[-2] == "! no breakpoint kind 'what': one of name, type, error, lap"


def test_esc_in_the_prompt_adds_nothing() -> None:
    assert managed((SEARCH,), "a", *"error", "escape")[1] == (SEARCH,)


def test_more_than_fit_turn_by_the_page() -> None:
    many = tuple(Breakpoint(OnType(f"type_{number}")) for number in range(10))
    rows, _ = managed(many, *["j"] * 4, height=8)
    assert [row.split()[-1] for row in rows[2:6]] == [f"(type:type_{number})" for number in (4, 5, 6, 7)]
    assert rows[2].startswith(">")


def test_recorded_names_are_shown_clean() -> None:
    rows, _ = managed((Breakpoint(OnName(HOSTILE)),))
    assert r"\x1b]52;c;cm0=\x07[b]" in rows[2]


def test_its_keys_are_one_key_away() -> None:
    rows, _ = managed((SEARCH,), "question_mark")
    assert rows[0] == "keys of the breakpoints"
    assert any("on / off" in row for row in rows)


def test_the_bookmarks_are_listed_below() -> None:
    """By step, as many as there is room for; also one whose step this run does not have."""
    marked = replace(timeline(), bookmarks={"b": 3, "a": 2, "z": 9})
    rows = [line_text(line).rstrip() for line in bookmark_lines(marked, 80, 20)]
    assert rows[2:] == [
        "   a      2  gpt-5-mini",
        "   b      3  search_orders",
        "   z      9  is not in this run",
    ]
    assert [line_text(line).rstrip() for line in bookmark_lines(marked, 80, 4)][2:] == [
        "   a      2  gpt-5-mini",
        "   and 2 more",
    ]
    assert bookmark_lines(marked, 80, 2) == bookmark_lines(timeline(), 80, 20) == []
    app = ScreenApp(BreakpointsScreen(marked))
    shown: list[str] = []

    async def act(pilot: Pilot[object]) -> None:
        await handled(pilot)
        shown.extend(text_of(app.screen))

    drive(app, act, (80, 24))
    assert rows[1:] == shown[4:8]
