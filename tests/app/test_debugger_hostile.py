"""Recorded text may hold anything, and none of it reaches the terminal as anything but text."""

import re

import pytest

from stepwell.app.geometry import Pane
from tests.app.hostile_app import debugger
from tests.app.paint import measure
from tests.app.recorded import HOSTILE, LOOPING
from tests.app.stepping import Debugging, debug, keys, pressed

OWN = re.compile(
    rb"\x1b\[[0-9;]*[mH]"  # colours, where to write
    rb"|\x1b\[\?[0-9;]+[hlu$p]+"  # modes of the terminal, set and asked for
    rb"|\x1b\[[<>=]?[0-9]*u"  # which keys are told apart
    rb"|\x1b\]22;[a-z]+\x07"  # the shape of the mouse pointer
)
"""What Textual itself writes. No text of a run can spell any of it without an ESC that is its own."""
FORBIDDEN = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
EVERYWHERE = [
    *"nnnnnn", "g", "d", "d", "x", "\t", "x", "\t", "z", "z", "M", "a", "b", "n", "b", "t", "B", "q", "Z", "G",
    "\r", "?", "q", "'", "q", "y", "/", "\r", ".", ":", "\r", "\x0c",
]  # fmt: skip


def test_no_control_sequence_of_a_run_reaches_the_terminal(
    recorded_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte written on a walk through every screen, at a real terminal."""
    monkeypatch.setenv("STEPWELL_TEST_TARGET", recorded_dsn)
    monkeypatch.setenv("STEPWELL_TEST_RUN", str(HOSTILE))
    costs = measure(debugger, EVERYWHERE, settle=0.05, environment={"TMUX": "", "STY": ""})
    output = b"".join(cost.output for cost in costs)
    assert rb"\x1b]52;c;cm0=" in output, "nothing hostile was shown"
    copied = re.compile(rb"\x1b\]52;c;[A-Za-z0-9+/=]*\x07")
    assert len(copied.findall(output)) == 1, "the one copy that was asked for"
    rest = OWN.sub(b"", copied.sub(b"", output)).decode()
    assert FORBIDDEN.findall(rest) == []


def test_redraw_paints_the_whole_screen(recorded_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After something else wrote to the terminal; a key that changes nothing paints nothing."""
    monkeypatch.setenv("STEPWELL_TEST_TARGET", recorded_dsn)
    monkeypatch.setenv("STEPWELL_TEST_RUN", str(LOOPING))
    redraw, nothing = measure(debugger, ["\x0c", "g"], environment={"TMUX": "", "STY": ""})
    assert b"refund-triage" in redraw.output
    assert b"SERIALIZABLE" in redraw.output
    assert nothing.written == 0


def test_a_message_that_goes_costs_no_paint_of_its_own(
    recorded_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move that it goes with paints once."""
    monkeypatch.setenv("STEPWELL_TEST_TARGET", recorded_dsn)
    monkeypatch.setenv("STEPWELL_TEST_RUN", str(LOOPING))
    *_, said, moved = measure(debugger, ["'", "q", "n"], environment={"TMUX": "", "STY": ""})
    assert b"no bookmark" in said.output
    assert moved.paints == 1


@pytest.mark.parametrize("step", range(1, 7))
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_what_looks_like_markup_is_shown_as_it_is(
    recorded_dsn: str, step: int, size: tuple[int, int]
) -> None:
    """In the name, the agent, the tool, the arguments, the reply, the state and the error."""

    async def act(debugger: Debugging) -> None:
        for pane in (Pane.OUTPUT, Pane.STATE, Pane.INPUT):
            text = "".join(debugger.rows(pane)).replace("\n", "").replace(" ", "")
            assert "\x1b" not in text
            if pane is not Pane.STATE and not (step == 4 and pane is Pane.INPUT):
                await debugger.press("z")
                zoomed = "".join(debugger.rows(pane)).replace(" ", "")
                assert "[bold]int[][/x]" in zoomed, debugger.text
                await debugger.press("z")
            await debugger.press("<tab>")
            if debugger.view.pane is Pane.TIMELINE:
                await debugger.press("<tab>")

    debug(recorded_dsn, HOSTILE, act, step=step, size=size)


def test_a_hostile_search_is_a_text_like_any_other(recorded_dsn: str) -> None:
    """Typed or pasted, found or not, and said in the status line."""
    seen = pressed(recorded_dsn, HOSTILE, "/[bold]int[] [/x]<enter>", step=6)
    assert "hit 5 of 5" in seen.status
    seen = pressed(recorded_dsn, HOSTILE, "/%_[/nothing]<enter>", step=6)
    assert "not found: %_[/nothing]" in seen.status


@pytest.mark.parametrize(
    "typed", ["bn", "bt", "B", ":break name:[/x]<enter>", ":[/x]<enter>", ":x[/x]<enter>"]
)
def test_hostile_names_do_no_harm_in_words_of_the_app(recorded_dsn: str, typed: str) -> None:
    """Breakpoint labels, choosers, errors of the command line."""

    async def act(debugger: Debugging) -> None:
        for key in keys(typed):
            await debugger.send(f"<{key.key}>")
            assert "\x1b" not in debugger.text
            assert "\u202e" not in debugger.text

    debug(recorded_dsn, HOSTILE, act, step=2)
