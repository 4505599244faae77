"""What came of the agent's code, in words, and what it printed."""

from collections.abc import Iterator
from itertools import chain

from stepwell.app.present import (
    Document,
    Role,
    Row,
    Rows,
    Span,
    cells,
    clean,
    note,
    size,
    wrap,
)
from stepwell.app.present.documents import wrapped
from stepwell.app.rerun import Rerun, place_words, shortened
from stepwell.app.view import View
from stepwell.rerun.child.output import NOT_KEPT


def placed(label: str, view: View, width: int) -> str:
    """A label with the line of the agent's code that asked for the step: `search_orders, agent.py:31, asked by 10`.

    Behind the name, so that it is seen where there is no room for the rest.
    """
    report = None if view.agent is None else view.agent.report
    if report is None or report.place is None or view.world is None or report.last != view.world.number:
        return label
    name, comma, rest = label.partition(",")
    words = clean(place_words(report.place))
    if cells(f"{label}, {words}") > width:
        words = words.partition(" in ")[0]
    return f"{name}, {words}{comma}{rest}" if name else words


def agent_pane(rerun: Rerun | None, width: int) -> tuple[str, Document]:
    """Label and document of the pane."""
    report = None if rerun is None else rerun.report
    if rerun is None or (report is None and not rerun.error):
        return "not run yet", note("the agent's code has not been run to a step yet", width)
    if report is None:
        return "cannot be run", note(clean(rerun.error), width, Role.ERROR)
    to = "the end" if rerun.to is None else str(rerun.to)
    over = "over " if report.output.endswith(NOT_KEPT) else ""
    printed = f"printed {over}{size(len(report.output))}" if report.output else "printed nothing"
    output = wrapped(report.output.removesuffix("\n"), width) if report.output else ()
    return f"{printed} up to {to}", Rows(chain(_about(rerun, width), output))


def _about(rerun: Rerun, width: int) -> Iterator[Row]:
    """What a reader should know before what was printed."""
    report = rerun.report
    if rerun.error:
        yield from _wrapped(rerun.error, width, Role.ERROR)
    if report is None:
        return
    if report.divergence is not None:
        yield from _wrapped(f"D {rerun.told}", width, Role.ERROR)
    if report.refused is not None:
        yield from _wrapped(f"! {report.refused}", width, Role.ERROR)
    if report.stopped is not None and report.stopped != f"step {rerun.to}":
        yield from _wrapped(f"it stopped: {report.stopped}", width, Role.DIM)
    if report.leave is not None:
        yield from _wrapped(
            f":live goes on for real from {report.leave.step}; it asks first", width, Role.DIM
        )
    for text in report.notes:
        yield from _wrapped(f"note: {text}", width, Role.NEW)


def _wrapped(text: str, width: int, role: Role) -> Iterator[Row]:
    yield from ((Span(piece, role),) for piece in wrap(clean(shortened(text)), width))
