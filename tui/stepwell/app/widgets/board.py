"""The debugger's screen as a function of a view: title, strip, timeline, panes, status, keys."""

from collections.abc import Iterator

from textual import events
from textual.app import ComposeResult

from stepwell.app.finding import PANES as SEARCHED
from stepwell.app.geometry import PANES, Geometry, Pane, divide, places
from stepwell.app.panes.agent import placed
from stepwell.app.panes.bars import keys_line, keys_of, status_line, title_line
from stepwell.app.panes.content import content, same_calls
from stepwell.app.panes.heading import heading_line
from stepwell.app.panes.stepless import stepless
from stepwell.app.panes.strip import strip_lines, strip_rows
from stepwell.app.panes.timeline import at_cursor, page_lines, top_row
from stepwell.app.present import Document, Line, Role, Span
from stepwell.app.view import View
from stepwell.app.widgets.edited import Edited
from stepwell.app.widgets.lines import Lines

FARTHEST_KEPT = 5_000
"""Lines down a pane up to which a zoom stays where it was; farther down it would have to lay out too much."""
ORDER = (Pane.TIMELINE, *PANES)
AROUND = 12
"""Cells of a heading that its label has not, but for the name of the pane."""
LOWEST = (Pane.STATE, Pane.TABLES, Pane.AGENT)
"""Of which one at a time is there."""
PARTS = ("title", "strip", Pane.TIMELINE, "bar", *PANES, "status", "keys")


class Board(Edited):
    """Paints views. A part is given its lines again only when what it shows has changed."""

    DEFAULT_CSS = """
    Board Lines { position: absolute; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._view: View | None = None
        self._geometry: Geometry | None = None
        self._shown: dict[Pane, tuple[object, ...]] = {}
        """What each pane's content was made from."""
        self._subjects: dict[Pane, tuple[object, ...]] = {}
        """What of it has nothing to do with size."""
        self._labels: dict[Pane, str] = {}
        self._page: list[Line] = []
        """The rows of the timeline without the mark of the cursor."""
        self._page_of: tuple[object, ...] = ()
        self._parts = {name: Lines(id=name) for name in PARTS}

    def compose(self) -> ComposeResult:
        yield from self._parts.values()

    def show(self, view: View) -> None:
        """Paint a view: at most one paint, of the rows that differ."""
        self._view = view
        if not self.size.width or not self.size.height:
            return
        geometry = self._divide(view)
        if geometry != self._geometry:
            self._lay_out(geometry)
        self._paint(view, geometry)

    def shows(self, view: View) -> bool:
        """Whether this very view was painted last."""
        return self._view is view

    def scroll_pane(self, pane: Pane, how: str) -> None:
        """`page_down`, `page_up`, `line_down`, `line_up`, `top`, `bottom`."""
        lines = self.lines(pane)
        match how:
            case "page_down":
                lines.move_pages(1)
            case "page_up":
                lines.move_pages(-1)
            case "line_down":
                lines.move_lines(1)
            case "line_up":
                lines.move_lines(-1)
            case "top":
                lines.move_home()
            case _:
                lines.move_end()

    def lines(self, pane: Pane) -> Lines:
        return self._parts[pane]

    def panes_shown(self) -> tuple[Pane, ...]:
        """Those that a key can choose now: below 60 columns, all, since one at a time is shown."""
        geometry = self._geometry
        if geometry is None or geometry.timeline_width in (0, geometry.width):
            lowest = (None if self._view is None else self._view.instead) or Pane.STATE
            return tuple(pane for pane in ORDER if pane is lowest or pane not in LOWEST)
        return tuple(pane for pane in ORDER if pane is Pane.TIMELINE or getattr(geometry, pane))

    def is_laid_out(self, pane: Pane) -> bool:
        """Whether a pane is on the screen now."""
        return self._geometry is not None and pane in self._panes_laid_out(self._geometry)

    def searched(self) -> list[tuple[Pane, Document | None, int]]:
        """The panes that a hit may be shown in: with the document that each shows, if it does, and its width."""
        geometry = self._geometry
        if geometry is None:
            return []
        laid_out, shown = set(self._panes_laid_out(geometry)), self.panes_shown()
        single = geometry.timeline_width in (0, geometry.width)
        width = geometry.width if single else geometry.pane_width
        return [
            (pane, self.lines(pane).document if pane in laid_out else None, width)
            for pane in SEARCHED
            if pane in shown
        ]

    def stop(self) -> bool:
        """Stop laying out on the way down a pane; whether there was anything to stop."""
        return sum(self.lines(pane).stop() for pane in PANES) > 0

    def on_resize(self, _: events.Resize) -> None:
        if self._view is not None:
            self.show(self._view)
        elif self.size.width and self.size.height:
            # Before the run is there, so that its first paint is a whole one and not half laid out.
            self._lay_out(self._divide(None))

    def _divide(self, view: View | None) -> Geometry:
        return divide(
            self.size.width,
            self.size.height,
            lanes=1 if view is None else strip_rows(view),
            pane=Pane.TIMELINE if view is None else view.pane,
            zoomed=view is not None and view.zoomed,
            state=True,
            instead=None if view is None else view.instead,
        )

    def _lay_out(self, geometry: Geometry) -> None:
        """Give each part its cells: on a resize or a zoom, never on a move."""
        self._geometry = geometry
        self._shown.clear()
        for name, (x, y, columns, rows) in places(geometry).items():
            part = self._parts[name]
            part.display = columns > 0 and rows > 0
            part.styles.offset = (x, y)
            part.styles.width, part.styles.height = max(1, columns), max(1, rows)
        x, y, columns, rows = places(geometry)[Pane.OUTPUT]
        self.place_editor(x, y + 1, columns, rows - 1)
        self._parts["bar"].show([(Span("|", Role.DIM),)] * geometry.body)

    def _paint(self, view: View, geometry: Geometry) -> None:
        if geometry.title:
            self._parts["title"].show([title_line(view, geometry.width)])
        self._parts["strip"].show(strip_lines(view, geometry.width, geometry.strip))
        if geometry.timeline_width:
            self._paint_timeline(view, geometry)
        for pane in self._panes_laid_out(geometry):
            self._fill(view, pane, geometry.pane_width)
        self._parts["status"].show([status_line(view, geometry.width)])
        if geometry.keys:
            self._parts["keys"].show([keys_line(geometry.width, keys_of(view))])

    def _paint_timeline(self, view: View, geometry: Geometry) -> None:
        timeline, height = view.timeline, geometry.body
        top = top_row(timeline, height)
        page_of = (
            timeline.outline,
            timeline.layout,
            timeline.breakpoints,
            timeline.bookmarks,
            view.cut,
            view.what_if,
            None if view.agent is None else view.agent.step,
            top,
            geometry,
        )
        if self._page_of != page_of:
            self._page = page_lines(view, top, geometry.timeline_width, height, geometry.durations)
            self._page_of = page_of
        lines, cursor = [*self._page], timeline.row - top if timeline.steps else None
        if cursor is not None:
            lines[cursor] = at_cursor(lines[cursor])
        self._parts[Pane.TIMELINE].show(lines, cursor=cursor)

    @staticmethod
    def _panes_laid_out(geometry: Geometry) -> Iterator[Pane]:
        if geometry.timeline_width < geometry.width:
            yield from (pane for pane in PANES if getattr(geometry, pane))

    def _fill(self, view: View, pane: Pane, width: int) -> None:
        """Make a pane's document, unless it shows it already; a world that lags behind stays as it is."""
        lines, document, top = self._parts[pane], None, None
        run = view.timeline.run
        if not view.timeline.steps and self._shown.get(pane) != (run, width):
            made = stepless(run, pane, width)
            self._shown[pane], self._labels[pane], document = (run, width), made.label, made.document
        lags = pane is Pane.TABLES and view.lags and not view.reading
        if view.world is not None and not view.stale and not lags:
            subject = (
                view.world,
                pane in view.raw,
                *((view.diff, view.whole) if pane is Pane.INPUT else ()),
                *((view.changes, view.reading) if pane is Pane.TABLES else ()),
                *((view.agent,) if pane is Pane.AGENT else ()),
                *((view.editing,) if pane is Pane.OUTPUT else ()),
            )
            around = same_calls(view) if pane is Pane.INPUT else ""
            made_from = (subject, width, view.zoomed, view.timeline.run.status, around)
            if self._shown.get(pane) != made_from:
                top = self._top(pane) if self._subjects.get(pane) == subject else None
                self._shown[pane], self._subjects[pane] = made_from, subject
                made = content(view, view.world, pane, width)
                self._labels[pane], document = made.label, made.document
        label, chosen = self._labels.get(pane, ""), view.pane is pane
        if pane is Pane.INPUT and not view.stale:
            label = placed(label, view, width - len(pane) - AROUND)
        lines.heading = lambda position: heading_line(pane, label, position, width, chosen=chosen)
        lines.mark = view.mark
        if document is None:
            lines.paint()
        else:
            lines.show(document, top)

    def _top(self, pane: Pane) -> int | None:
        """The first line in view, to stay there when the same thing is shown in another size."""
        top = self.lines(pane).position.first - 1
        return top if top <= FARTHEST_KEPT else None
