"""A run as it is being looked at: its steps, where one stands, what is folded. An immutable value.

The moves are in `moves`; each takes a timeline and returns another one.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stepwell.core.breakpoints import Breakpoint
from stepwell.core.folding import Fold, Layout, folds_hiding, lay_out
from stepwell.core.heads import Growth, Heads
from stepwell.core.lanes import Lane, draw_lanes, draw_strip
from stepwell.core.outline import ERROR, Outline
from stepwell.core.steps import STATE_UPDATE, Loop, RunHead, StepHead
from stepwell.core.world import Moment

BREAKPOINT = "*"
WRITTEN = "w"


@dataclass(frozen=True)
class Timeline:
    """Made by `build`. `cursor` is the index of a visible step, 0 in a run without steps.

    `jumps` are the indexes that jumps left behind, newest last; `bookmarks` map a letter to a step number.
    """

    run: RunHead
    outline: Outline
    layout: Layout
    cursor: int = 0
    moment: Moment = Moment.AFTER
    folded: frozenset[Fold] = frozenset()
    breakpoints: tuple[Breakpoint, ...] = ()
    bookmarks: Mapping[str, int] = field(default_factory=dict)
    jumps: tuple[int, ...] = ()

    @property
    def steps(self) -> Heads:
        return self.outline.steps

    @property
    def current(self) -> StepHead | None:
        """The step at the cursor, None in a run without steps."""
        return self.steps[self.cursor] if self.steps else None

    @property
    def visible(self) -> Layout:
        """The rows."""
        return self.layout

    @property
    def row(self) -> int:
        """The position of the cursor among the visible rows, from 0."""
        return self.layout.row_of(self.cursor) if self.steps else 0

    @property
    def running(self) -> bool:
        return self.outline.running

    @property
    def loops(self) -> tuple[Loop, ...]:
        return self.outline.loops

    def position(self) -> str:
        """`17/23 74%`, by order and not by number; `17/318+ 5%` while the run goes on."""
        total = len(self.steps)
        more = "+" if self.running else ""
        if not total:
            return f"0/0{more}"
        return f"{self.cursor + 1}/{total}{more} {round(100 * (self.cursor + 1) / total)}%"

    def lap(self, index: int) -> int | None:
        """The lap that the step belongs to, None outside of loops."""
        place = self.outline.place(index)
        return None if place is None else place.lap

    def flags(self, index: int) -> tuple[str, ...]:
        """`*` breakpoint, `!` error, `?` in doubt, `~` running, `w` state written, `o3` third lap."""
        found = [BREAKPOINT] if self.is_hit(index) else []
        if self.steps.raised[index]:
            found.append(ERROR)
        elif self.steps.in_doubt[index]:
            found.append(self.outline.unfinished)
        if self.steps.type[index] == STATE_UPDATE:
            found.append(WRITTEN)
        if (lap := self.lap(index) or 0) > 1:
            found.append(f"o{lap}")
        return tuple(found)

    def bookmarks_at(self, index: int) -> str:
        """The letters of the bookmarks of the step."""
        number = self.steps.numbers[index]
        return "".join(sorted(letter for letter, marked in self.bookmarks.items() if marked == number))

    def _hits(self) -> "list[array[int]]":
        return [self.outline.hits(point.condition) for point in self.breakpoints if point.enabled]

    def is_hit(self, index: int) -> bool:
        """Whether an enabled breakpoint matches the step."""
        return any(self.outline.is_hit(point.condition, index) for point in self.breakpoints if point.enabled)

    def next_hit(self, index: int) -> int | None:
        """The first step after `index` that an enabled breakpoint matches."""
        after = [hits[at] for hits in self._hits() if (at := bisect_right(hits, index)) < len(hits)]
        return min(after, default=None)

    def previous_hit(self, index: int) -> int | None:
        """The last step before `index` that an enabled breakpoint matches."""
        before = [hits[at - 1] for hits in self._hits() if (at := bisect_left(hits, index)) > 0]
        return max(before, default=None)

    def strip(self, width: int) -> str:
        """The whole run in one line; see `draw_strip`."""
        return draw_strip(self.outline, self.cursor, width)

    def lanes(self, width: int, limit: int = 4) -> tuple[Lane, ...]:
        """A line an agent; see `draw_lanes`."""
        return draw_lanes(self.outline, self.cursor, width, limit) if self.steps else ()

    def refolded(self, folded: frozenset[Fold]) -> "Timeline":
        """With exactly this folded; the cursor goes to the row that stands for its step."""
        if folded == self.folded:
            return self
        layout = lay_out(self.outline, folded)
        cursor = layout.shown[layout.row_of(self.cursor)] if self.steps else 0
        return replace(self, folded=folded, layout=layout, cursor=cursor)

    def at(self, index: int) -> "Timeline":
        """With the cursor at this step; whatever hides it is unfolded."""
        if self.layout.shows(index):
            return replace(self, cursor=index)
        hiding = folds_hiding(self.outline, self.folded, index)
        return replace(self.refolded(self.folded - hiding), cursor=index)

    def extended(
        self, new: Sequence[StepHead] = (), updated: Sequence[StepHead] = (), run: RunHead | None = None
    ) -> "Timeline":
        """With steps that a live run has gained, steps that have changed (by number), and its new head.

        Cursor, moment, folds, breakpoints, bookmarks and jumps stay with their steps, also where a new step
        comes before them.
        """
        return self.grown(self.steps.grown(new, updated), run or self.run)

    def grown(self, growth: Growth, run: RunHead) -> "Timeline":
        """The same with what the steps have grown to."""
        steps, start, inserted = growth
        running = run.status == "running"
        if start == len(self.steps) == len(steps) and running == self.running:
            return replace(self, run=run)
        outline = self.outline.grown(steps, running, start)
        layout = lay_out(outline, self.folded)

        def moved(index: int) -> int:
            return index + bisect_right(inserted, index)

        cursor = layout.shown[layout.row_of(moved(self.cursor))] if steps else 0
        jumps = tuple(moved(index) for index in self.jumps)
        return replace(self, run=run, outline=outline, layout=layout, cursor=cursor, jumps=jumps)


def build(
    run: RunHead,
    steps: Iterable[StepHead],
    *,
    breakpoints: Sequence[Breakpoint] = (),
    bookmarks: Mapping[str, int] | None = None,
) -> Timeline:
    """A timeline at its first step, after it, with nothing folded. `steps` come in row order."""
    outline = Outline(Heads.of(steps), run.status == "running")
    return Timeline(
        run,
        outline,
        lay_out(outline, frozenset()),
        breakpoints=tuple(breakpoints),
        bookmarks=dict(bookmarks or {}),
    )
