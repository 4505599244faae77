"""Recorded text may hold anything, and none of it reaches the terminal as anything but text."""

from xml.etree import ElementTree

import pytest

from stepwell.app.geometry import Pane
from tests.app.hostile_app import debugger
from tests.app.paint import measure
from tests.app.recorded import HOSTILE, LOOPING
from tests.app.stepping import Debugging, debug, keys, pressed
from tests.hostile import TEXTS, foreign, record, together


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


def test_a_picture_of_the_screen_is_well_formed_and_holds_letters_only(schema_dsn: str) -> None:
    """As SVG, which the pictures of the README are."""
    run = record(schema_dsn, [TEXTS["HTML"], *together(TEXTS.values(), 13)])
    pictures: list[str] = []

    async def act(debugger: Debugging) -> None:
        for typed in ("", "n", "n", "nx", "<tab>xz", "zG", "B", "q?"):
            await debugger.press(typed)
            pictures.append(debugger.app.export_screenshot(title=debugger.rows("title")[0]))

    debug(schema_dsn, run, act, size=(160, 50))
    for picture in pictures:
        ElementTree.fromstring(picture)
        assert foreign(picture.replace("\n", "\r\n").encode()) == []
    assert "&lt;script&gt;" in "".join(pictures)


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
