"""What is shown while an agent is asked whether it goes on for real, and while it does. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from stepwell.app.panes.bars import ends, keys_line
from stepwell.app.present import Line, Role, Span, clean, duration, line_cells, wrap
from stepwell.app.present.leaving import warning
from stepwell.app.rerun import shortened
from stepwell.core.rerun import Leave

KEYS = {
    "looking": (("q", "back"), ("Ctrl-C", "back")),
    "asking": (("y", "go on for real"), ("q", "back")),
    "going": (("Ctrl-C", "end it"),),
    "over": (("q", "back"),),
}


@dataclass(frozen=True, slots=True)
class LiveView:
    """What is known. It goes on for real once `seconds` are counted; `over` says why it does not."""

    run: str
    where: str
    """Role and database: `agents@db1`."""
    leave: Leave | None = None
    told: str = ""
    """What it asks anew, in words."""
    seconds: int | None = None
    ending: bool = False
    """Whether it is to end."""
    over: str = ""

    @property
    def phase(self) -> str:
        if self.over:
            return "over"
        if self.seconds is not None:
            return "going"
        return "looking" if self.leave is None else "asking"


def title_line(view: LiveView, width: int) -> Line:
    """`GO ON FOR REAL from step 6?  refund-triage 7f3a                 agents@db1`"""
    at = "" if view.leave is None else f" from step {view.leave.step}"
    word = f"LIVE{at}" if view.phase == "going" else f"GO ON FOR REAL{at}?"
    left = [Span(word, Role.ERROR), Span(f"  {clean(view.run)}", Role.HEADING)]
    return ends(left, [Span(clean(view.where), Role.DIM)], width)


def live_lines(view: LiveView, width: int) -> list[Line]:
    """What there is to know before one says yes, and then how long it has gone on."""
    return [(Span(piece, role),) for text, role in _texts(view) for piece in wrap(text, width) or [""]]


def _texts(view: LiveView) -> Iterator[tuple[str, Role]]:
    match view.phase:
        case "over":
            yield clean(shortened(view.over)), Role.PLAIN
        case "looking":
            yield "running the agent's code to where it asks what was not recorded", Role.PLAIN
        case "asking" if view.leave is not None:
            yield from ((text, Role.PLAIN) for text in warning(view.leave))
        case _:
            seconds = view.seconds or 0
            took = f"{seconds} s" if seconds < 60 else duration(timedelta(seconds=seconds))
            yield (
                f"the agent has been at work for {took}; each call is recorded, in a branch of this run",
                Role.PLAIN,
            )
            if view.ending:
                yield "ending it", Role.PLAIN
    if view.told:
        yield "", Role.PLAIN
        yield clean(shortened(view.told)), Role.ERROR


def below_line(view: LiveView, position: str, width: int) -> Line:
    """The keys, and which lines are in view."""
    right = [Span(f" {position}")]
    return (*keys_line(width - line_cells(right), KEYS[view.phase]), *right)
