"""What the panes show of a run that has no step."""

from itertools import chain

from stepwell.app.geometry import Pane
from stepwell.app.panes.content import Content
from stepwell.app.panes.facts import facts
from stepwell.app.present import Role, Rows, note, rows
from stepwell.core.steps import RunHead


def stepless(run: RunHead, pane: Pane, width: int) -> Content:
    """OUTPUT tells what became of the run, the other panes are empty."""
    if pane is not Pane.OUTPUT:
        return Content("", note("", width))
    if not run.error:
        return Content("", note(dict(facts(run)).get("end", ""), width))
    type_, colon, message = run.error.partition(":")
    words = note(type_.rpartition(".")[2] + colon + message, width, Role.ERROR)
    why = note("the run raised this before any step was recorded", width)
    return Content("the run raised", Rows(chain(rows(words), rows(why))))
