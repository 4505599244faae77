"""What a line typed after the colon comes to."""

from dataclasses import replace

import pytest

from stepwell.app.commanding import run_command
from stepwell.app.geometry import Pane
from stepwell.app.messages import OpenAddress
from stepwell.app.view import View
from stepwell.core.breakpoints import Breakpoint, OnError, OnName
from stepwell.core.moves import Move
from stepwell.core.world import Moment
from tests.app.test_breakpoints import timeline

VIEW = View(timeline(), "0000", "agents@db1")


def moved(text: str, view: View = VIEW) -> Move:
    found = run_command(view, text)
    assert isinstance(found, Move)
    return found


def viewed(text: str, view: View = VIEW) -> View:
    found = run_command(view, text)
    assert isinstance(found, View)
    return found


def test_a_place_is_a_move() -> None:
    """By number, or by the address of this run."""
    step = VIEW.timeline.steps[-1].number
    run = VIEW.timeline.run.run_id
    assert moved(f"{step}").timeline.current == VIEW.timeline.steps[-1]
    assert moved(f"{run}:{step}").timeline.current == VIEW.timeline.steps[-1]
    assert moved(f"{run}").message == "this is that run"


def test_an_address_with_a_path_is_opened() -> None:
    """Also where it is in this run: the value has to be read."""
    text = f"{VIEW.timeline.run.run_id}:1:$.output"
    found = run_command(VIEW, text)
    assert isinstance(found, OpenAddress)
    assert found.text == text


def test_an_address_of_another_run_is_handed_on() -> None:
    """The screen cannot open it."""
    found = run_command(VIEW, "ffff:3")
    assert isinstance(found, OpenAddress)
    assert found.text == "ffff:3"


def test_a_breakpoint_is_set_and_deleted() -> None:
    """By what it stops at; all of them without."""
    with_one = replace(VIEW, timeline=moved("break error").timeline)
    assert with_one.timeline.breakpoints == (Breakpoint(OnError()),)
    assert moved("delete error", with_one).timeline.breakpoints == ()
    assert moved("delete", with_one).timeline.breakpoints == ()
    refused = moved("delete name:nothing", with_one)
    assert refused.timeline.breakpoints == with_one.timeline.breakpoints
    assert refused.message == "no breakpoint name:nothing"


def test_break_alone_is_on_what_the_step_is_called() -> None:
    """The default of the chooser as well."""
    step = VIEW.timeline.current
    assert step is not None
    assert step.name is not None
    assert moved("break").timeline.breakpoints == (Breakpoint(OnName(step.name)),)


@pytest.mark.parametrize(("text", "moment"), [("asked", Moment.ASKED), ("after", Moment.AFTER)])
def test_the_moment_is_set(text: str, moment: Moment) -> None:
    """Not switched: saying it twice changes nothing."""
    assert moved(text).timeline.moment is moment


def test_ways_of_showing_are_switched() -> None:
    """As their keys do; what there is of a prompt only, on a model call only."""
    on_model = replace(VIEW, timeline=VIEW.timeline.at(1))
    on_tool = replace(VIEW, timeline=VIEW.timeline.at(0), pane=Pane.STATE)
    assert viewed("diff", on_model).diff
    assert viewed("whole", on_model).whole
    for text in ("diff", "whole"):
        assert viewed(text, on_tool) == replace(on_tool, message="not a prompt: d and M are for model calls")
    assert viewed("raw", replace(VIEW, pane=Pane.INPUT)).raw == {Pane.INPUT}


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("follow", "follow"),
        ("save", "save"),
        ("runs", "close('run')"),
        ("help", "help('Commands')"),
        ("quit", "close('app')"),
    ],
)
def test_the_rest_is_an_action(text: str, action: str) -> None:
    """By the name that a binding would use."""
    assert run_command(VIEW, text) == action


@pytest.mark.parametrize("text", ["", "nonsense", "break lap:x", "1:2:3", "9" * 400, "[/x]"])
def test_what_cannot_be_understood_is_one_line(text: str) -> None:
    """And leaves everything as it was."""
    found = viewed(text)
    assert found.error
    assert "\n" not in found.error
    assert found.timeline is VIEW.timeline
