"""Every key of the debugger does what its description says."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import pytest

from stepwell.app.geometry import PANES, Pane
from stepwell.app.keys import DEBUGGER
from stepwell.app.screens.breakpoints import BreakpointsScreen
from stepwell.app.screens.help import HelpScreen
from stepwell.app.widgets.prompt import Prompt
from stepwell.core.world import Moment
from tests.app.recorded import LOOPING, SWARM
from tests.app.stepping import Debugging, debug

Expected = Callable[[Debugging], object]


@dataclass(frozen=True)
class Case:
    """At `step` of `run`, after the keys `before`, the key under test and then `after` do what is `expected`."""

    step: int
    expected: Expected
    before: str = ""
    after: str = ""
    run: UUID = LOOPING


def at(number: int) -> Expected:
    return lambda debugger: debugger.number == number


def says(words: str) -> Expected:
    return lambda debugger: words in debugger.status


def chosen(pane: Pane) -> Expected:
    return lambda debugger: debugger.view.pane is pane and f"[{pane.upper()}]" in debugger.text


def shows(pane: Pane, words: str) -> Expected:
    return lambda debugger: words in debugger.pane(pane) + debugger.heading(pane)


def first_line_is(number: int) -> Expected:
    """Of OUTPUT."""
    return lambda debugger: f" {number}-" in debugger.heading(Pane.OUTPUT)


def asks(kind: str) -> Expected:
    def is_open(debugger: Debugging) -> bool:
        prompt = debugger.screen.query_one(Prompt)
        return prompt.is_open and debugger.text.splitlines()[-1].startswith(kind)

    return is_open


CASES = {
    "next": Case(5, at(6)),
    "back": Case(5, at(4)),
    "agent-next": Case(3, at(9), run=SWARM),
    "agent-back": Case(9, at(3), run=SWARM),
    "first": Case(5, at(1)),
    "last": Case(5, at(52)),
    "percent": Case(5, at(26), before="50"),
    "moment": Case(
        5,
        lambda debugger: (
            debugger.view.timeline.moment is Moment.ASKED and "5/52 10% asked" in debugger.status
        ),
    ),
    "continue": Case(5, at(7), before="bn"),
    "reverse": Case(9, at(7), before="bn"),
    "break": Case(5, says("breakpoint set: search_orders, 24 hits"), after="n"),
    "breakpoints": Case(5, lambda debugger: isinstance(debugger.app.screen, BreakpointsScreen)),
    "error": Case(5, at(52)),
    "change-next": Case(5, says("no table is watched in this database: stepwell watch TABLE")),
    "change-back": Case(5, says("no table is watched in this database: stepwell watch TABLE")),
    "lap-next": Case(5, at(7)),
    "lap-back": Case(9, at(7)),
    "lap-first": Case(20, at(5)),
    "fold": Case(7, lambda debugger: "o2-24" in debugger.text),
    "fold-all": Case(1, lambda debugger: "o2-24" in debugger.text),
    "command": Case(5, asks(":")),
    "search": Case(5, asks("/")),
    "hit-next": Case(1, at(2), before="/Ada<enter>"),
    "hit-back": Case(5, at(2), before="/Ada<enter>g5n"),
    "jump": Case(5, at(5), before="G", after="'"),
    "mark": Case(5, lambda debugger: any(row.endswith("'x") for row in debugger.rows("timeline")), after="x"),
    "pane-next": Case(5, chosen(Pane.STATE)),
    "pane-back": Case(5, chosen(Pane.INPUT)),
    "page-down": Case(5, first_line_is(8)),
    "page-up": Case(5, first_line_is(1), before="<space>"),
    "line-down": Case(5, first_line_is(2)),
    "line-up": Case(5, first_line_is(7), before="<space>"),
    "pane-top": Case(5, first_line_is(1), before="<space><space>"),
    "pane-bottom": Case(5, shows(Pane.OUTPUT, "226-232/232")),
    "zoom": Case(5, lambda debugger: not debugger.rows("timeline") and len(debugger.rows(Pane.OUTPUT)) == 19),
    "diff": Case(6, shows(Pane.INPUT, "against prompt 4")),
    "raw": Case(5, shows(Pane.OUTPUT, "as stored")),
    "tables": Case(5, shows(Pane.TABLES, "[TABLES]")),
    "divergence": Case(5, says("no agent's code: stepwell RUN --agent package.module:callable")),
    "printed": Case(5, says("no agent's code: stepwell RUN --agent package.module:callable")),
    "edit": Case(5, shows(Pane.OUTPUT, "edited as JSON")),
    "edit-outside": Case(5, says("no editor here: this terminal cannot be handed over")),
    "undo-edit": Case(5, says("nothing is edited: e edits what this step gave")),
    "save": Case(5, says("nothing is edited: e edits what this step gave")),
    "browse": Case(5, lambda debugger: "tables at 7f3a:5 after" in debugger.text),
    "sql": Case(5, lambda debugger: "SQL at 7f3a:5 after" in debugger.text),
    "whole": Case(6, lambda debugger: debugger.view.whole and "earlier" not in debugger.pane(Pane.INPUT)),
    "follow": Case(5, says("the run has ended (failed): nothing to follow")),
    "copy-address": Case(5, says("copied 6 characters: 7f3a:5")),
    "copy-value": Case(5, says("copied 10,626 characters")),
    "pager": Case(5, says("no pager here: this terminal cannot be handed over")),
    "cancel": Case(5, says("nothing is running; q goes out")),
    "redraw": Case(5, lambda debugger: debugger.view.timeline.cursor == 4),
    "suspend": Case(5, lambda debugger: debugger.view.timeline.cursor == 4),
    "help": Case(5, lambda debugger: isinstance(debugger.app.screen, HelpScreen)),
    "leave": Case(6, lambda debugger: not debugger.view.diff and debugger.view.zoomed, before="zd"),
    "close": Case(5, lambda debugger: debugger.app.return_value == 0 and not debugger.app.is_running),
}
"""By the id of the binding."""

BINDINGS = {str(binding.id): binding for binding in DEBUGGER}


def test_no_binding_is_untested() -> None:
    """A key that is added has to be tested here."""
    assert set(CASES) == set(BINDINGS)
    assert len(BINDINGS) == len(DEBUGGER)


@pytest.mark.parametrize("id_", BINDINGS)
def test_each_key_does_what_it_says(id_: str, recorded_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the keys of a binding, from the same start; without a terminal, some change nothing."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("EDITOR", "true")
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    case = CASES[id_]

    async def act(debugger: Debugging) -> None:
        await debugger.press(case.before)
        start = debugger.view
        tops = {pane: debugger.screen.board.lines(pane).position.first - 1 for pane in PANES}
        for key in BINDINGS[id_].key.split(","):
            assert id_ in ("redraw", "suspend") or not case.expected(debugger), f"{id_} has nothing to do"
            await debugger.press(f"<{key}>")
            await debugger.press(case.after)
            assert case.expected(debugger), f"{key}:\n{debugger.text}"
            if debugger.is_open:
                debugger.screen.show(start)
                for pane, top in tops.items():
                    debugger.screen.board.lines(pane).move_home()
                    debugger.screen.board.lines(pane).move_lines(top)
                await debugger.settle()

    debug(recorded_dsn, case.run, act, step=case.step)


@pytest.mark.parametrize("id_", BINDINGS)
def test_each_key_is_described(id_: str) -> None:
    """A description and a tooltip, for the help screen and the README."""
    assert BINDINGS[id_].description
    assert BINDINGS[id_].tooltip
