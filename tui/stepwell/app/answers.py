"""What the answer to a chooser does to a timeline, and what toggles do to a view. Pure."""

from dataclasses import replace

from stepwell.app.geometry import Pane
from stepwell.app.pending import Answer
from stepwell.app.view import View
from stepwell.core import moves
from stepwell.core.breakpoints import Condition, OnError, OnLap, OnName, OnType, toggled
from stepwell.core.moves import Move
from stepwell.core.steps import LLM_CALL
from stepwell.core.timeline import Timeline

INSTEAD = {"tables": Pane.TABLES, "printed": Pane.AGENT}
"""What switches a pane on in place of STATE."""
NO_AGENT = "no agent's code: stepwell RUN --agent package.module:callable"


def answer(timeline: Timeline, given: Answer) -> Move:
    """Set or go to a bookmark, undo a jump, set or clear a breakpoint."""
    match given.kind:
        case "mark":
            return moves.set_bookmark(timeline, given.character)
        case "jump" if given.character == "'":
            return moves.undo_jump(timeline)
        case "jump":
            return moves.go_to_bookmark(timeline, given.character)
        case _:
            return _break(timeline, given)


def _break(timeline: Timeline, given: Answer) -> Move:
    step = timeline.current
    condition: Condition | None = None
    match given.character:
        case "n" | "b" if step is not None and step.name:
            condition = OnName(step.name)
        case "n" | "b":
            return Move(timeline, "this step has no name; bt breaks on its type")
        case "t" if step is not None:
            condition = OnType(step.type)
        case "e":
            condition = OnError()
        case "l":
            condition = OnLap(given.count or 2)
    if condition is None:
        return Move(timeline, "no such breakpoint: bn name, bt type, be errors, bl laps")
    return toggle_breakpoint(timeline, condition)


def toggle_breakpoint(timeline: Timeline, condition: Condition) -> Move:
    """Set a breakpoint, or clear it where it was set."""
    points = toggled(timeline.breakpoints, condition)
    count = len(timeline.outline.hits(condition))
    word = "set" if len(points) > len(timeline.breakpoints) else "cleared"
    hits = "1 hit" if count == 1 else f"{count} hits"
    return Move(replace(timeline, breakpoints=points), f"breakpoint {word}: {condition.label}, {hits}")


def shows_diff(view: View) -> bool:
    """Whether a diff of prompts is in view: it is of model calls, and INPUT shows it."""
    step = view.timeline.current
    is_prompt = step is not None and step.type == LLM_CALL and Pane.INPUT not in view.raw
    return view.diff and is_prompt and not (view.zoomed and view.pane is not Pane.INPUT)


def inner_view(view: View) -> View | None:
    """Out of a diff, else out of a zoom, else of AGENT; None where there is none of these to leave before the run."""
    shown = {"diff": shows_diff(view), "zoom": view.zoomed, "printed": view.printed}
    return next((toggle(view, what) for what, is_shown in shown.items() if is_shown), None)


def toggle(view: View, what: str) -> View:
    """With a zoom, a diff, a raw pane, or all messages switched on or off."""
    view = replace(view, message="", error="")
    match what:
        case "zoom":
            return replace(view, zoomed=not view.zoomed)
        case "tables" if view.tables:
            pane = Pane.OUTPUT if view.pane is Pane.TABLES else view.pane
            return replace(view, tables=False, changes_of=None, pane=pane)
        case "tables":
            return replace(view, tables=True, printed=False, reading=False, pane=Pane.TABLES)
        case "printed" if view.agent is None:
            return replace(view, message=NO_AGENT)
        case "printed" if view.printed:
            return replace(view, printed=False, pane=Pane.OUTPUT if view.pane is Pane.AGENT else view.pane)
        case "printed":
            return replace(view, printed=True, tables=False, changes_of=None, pane=Pane.AGENT)
        case "diff" | "whole" if view.timeline.current is None or view.timeline.current.type != LLM_CALL:
            return replace(view, message="not a prompt: d and M are for model calls")
        case "diff":
            return replace(view, diff=not view.diff, raw=view.raw - {Pane.INPUT}, pane=Pane.INPUT)
        case "whole":
            return replace(view, whole=not view.whole, raw=view.raw - {Pane.INPUT}, pane=Pane.INPUT)
        case "raw" if view.pane is Pane.TIMELINE:
            return replace(view, message="choose a pane first: Tab")
        case "raw" if view.pane is Pane.AGENT:
            return replace(view, message="it is shown as it was printed")
        case "raw" if view.pane is Pane.TABLES:
            return replace(view, message="its values are as Postgres writes them; z shows more of them")
        case _:
            return replace(view, raw=view.raw ^ {view.pane})
