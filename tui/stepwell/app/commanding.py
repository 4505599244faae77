"""What a line typed after the colon comes to: a move, another view, an action by name, or another run. Pure."""

from dataclasses import replace

from stepwell.app.answers import toggle, toggle_breakpoint
from stepwell.app.commandline import Break, Command, Delete, FoldAll, Goto, Leave, Look, Toggle, parse_command
from stepwell.app.messages import OpenAddress
from stepwell.app.moving import fold_all
from stepwell.app.view import View
from stepwell.core import moves
from stepwell.core.address import Address
from stepwell.core.breakpoints import Condition, default_for
from stepwell.core.moves import Move
from stepwell.core.timeline import Timeline
from stepwell.errors import UsageError

_LEAVE = {
    "runs": "close('run')",
    "help": "help('Commands')",
    "quit": "close('app')",
    "save": "save",
    "live": "live",
}


def run_command(view: View, text: str) -> Move | View | OpenAddress | str:
    """A text is the name of an action. What cannot be understood is a view with an error."""
    try:
        command = parse_command(text)
    except UsageError as problem:
        return replace(view, error=str(problem))
    return _run(view, command, text)


def _run(view: View, command: Command, text: str) -> Move | View | OpenAddress | str:
    timeline = view.timeline
    match command:
        case Goto(place):
            if isinstance(place, Address):
                return _go_to_address(timeline, place, text)
            return moves.go_to(timeline, place)
        case Break(condition):
            if condition is None and timeline.current is not None:
                condition = default_for(timeline.current)
            return _no_steps(timeline) if condition is None else toggle_breakpoint(timeline, condition)
        case Delete(condition):
            return _delete(timeline, condition)
        case Look(moment):
            return Move(replace(timeline, moment=moment))
        case FoldAll(folded):
            return fold_all(timeline) if folded else moves.unfold_all(timeline)
        case Toggle("follow"):
            return "follow"
        case Toggle(what):
            return toggle(view, what)
        case Leave("parent"):
            return _to_parent(timeline)
        case _:
            return _LEAVE[command.to]


def _to_parent(timeline: Timeline) -> Move | OpenAddress:
    run = timeline.run
    if run.parent is None:
        return Move(timeline, "this run is no branch of another one")
    return OpenAddress(f"{run.parent}:{run.forked_at}")


def _no_steps(timeline: Timeline) -> Move:
    return Move(timeline, "the run has no steps")


def _delete(timeline: Timeline, condition: Condition | None) -> Move:
    if condition is None:
        return Move(replace(timeline, breakpoints=()), "no breakpoint is left")
    if all(point.condition != condition for point in timeline.breakpoints):
        return Move(timeline, f"no breakpoint {condition.text}")
    return toggle_breakpoint(timeline, condition)


def _go_to_address(timeline: Timeline, address: Address, text: str) -> Move | OpenAddress:
    """Within this run a move; with a path, or in another run, it is looked up."""
    if address.path is not None or not timeline.run.run_id.hex.startswith(address.run):
        return OpenAddress(text)
    if address.step is None:
        return Move(timeline, "this is that run")
    return moves.go_to(timeline, address.step)
