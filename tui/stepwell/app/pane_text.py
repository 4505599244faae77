"""What a pane shows, as text to copy or to page through."""

from collections.abc import Iterator
from dataclasses import replace

from stepwell.app.geometry import Pane
from stepwell.app.panes.content import content
from stepwell.app.panes.timeline import timeline_lines
from stepwell.app.present import dumps, is_too_large, line_text, plain_text, value
from stepwell.app.view import View
from stepwell.core.address import Address, Number
from stepwell.core.world import World

QUICK = 1_000_000
"""Characters up to which a value is copied at once."""
PIECE = 1_000_000
WIDE = 10_000
"""Cells of a line of what changed in tables, as it is copied."""


def address_text(view: View) -> str:
    """`7f3a:17`, as every command takes it; the run alone where it has no steps."""
    step = view.timeline.current
    return str(Address(view.short_id, Number(step.number) if step else None))


def value_text(view: View, world: World) -> str:
    """The value of the chosen pane: a text as it is, anything else as JSON; the address for the timeline.

    Of tables what the pane shows, each line whole.
    """
    payload = world.payload
    match view.pane:
        case Pane.TIMELINE:
            return address_text(view)
        case Pane.STATE:
            return dumps(world.states.get(world.step.agent))
        case Pane.INPUT:
            return _text(payload.input, payload.input_exact)
        case Pane.AGENT:
            report = None if view.agent is None else view.agent.report
            return "" if report is None else report.output
        case Pane.TABLES:
            return "\n".join(plain_text(content(replace(view, zoomed=True), world, view.pane, WIDE).document))
        case _:
            return _text(payload.output, payload.output_exact) if payload.error is None else payload.error


def is_long(view: View, world: World) -> bool:
    """Whether to copy the value of the chosen pane takes so long that it holds up the keyboard."""
    return len(_stored(view, world)[0]) > QUICK


def value_pieces(view: View, world: World) -> Iterator[str]:
    """`value_text` piece by piece; of a value that is too large to be taken apart the text as it is stored."""
    text = _stored(view, world)[0] if is_stored_only(view, world) else value_text(view, world)
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def is_stored_only(view: View, world: World) -> bool:
    """Whether the value of the chosen pane is too large to be taken apart."""
    return is_too_large(*_stored(view, world))


def _stored(view: View, world: World) -> tuple[str, str | None]:
    """What the database holds of the value of the chosen pane, where it is one that may be long."""
    payload = world.payload
    if view.pane is Pane.INPUT:
        return payload.input or "", payload.input_exact
    if view.pane is Pane.OUTPUT and payload.error is None:
        return payload.output or "", payload.output_exact
    return "", None


def _text(plain: str | None, exact: str | None) -> str:
    if plain is None:
        return ""
    found = value(plain, exact)
    return found if isinstance(found, str) else dumps(found)


def pane_lines(view: View, width: int) -> Iterator[str]:
    """Every line of the chosen pane, laid out for `width` cells instead of the pane's, safe for a terminal."""
    if view.pane is Pane.TIMELINE or view.world is None:
        for line in timeline_lines(view, width, max(1, len(view.timeline.visible)), durations=True):
            yield line_text(line)
    else:
        yield from plain_text(content(view, view.world, view.pane, width).document)
