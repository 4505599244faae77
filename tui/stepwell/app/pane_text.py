"""What a pane shows, as text to copy or to page through."""

from collections.abc import Iterator

from stepwell.app.geometry import Pane
from stepwell.app.panes.content import content
from stepwell.app.panes.timeline import timeline_lines
from stepwell.app.present import dumps, line_text, plain_text, value
from stepwell.app.view import View
from stepwell.core.address import Address, Number
from stepwell.core.world import World


def address_text(view: View) -> str:
    """`7f3a:17`, as every command takes it; the run alone where it has no steps."""
    step = view.timeline.current
    return str(Address(view.short_id, Number(step.number) if step else None))


def value_text(view: View, world: World) -> str:
    """The value of the chosen pane: a text as it is, anything else as JSON; the address for the timeline."""
    payload = world.payload
    match view.pane:
        case Pane.TIMELINE:
            return address_text(view)
        case Pane.STATE:
            return dumps(world.states.get(world.step.agent))
        case Pane.INPUT:
            return _text(payload.input, payload.input_exact)
        case _:
            return _text(payload.output, payload.output_exact) if payload.error is None else payload.error


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
