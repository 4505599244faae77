"""Which rows are visible: a folded parent hides what it called, a folded loop all laps but the first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from stepwell.core.outline import Outline


class RowKind(StrEnum):
    STEP = "step"
    PARENT = "parent"
    """A step with its descendants folded into it."""
    LAPS = "laps"
    """One row for all laps of a loop after the first; its step is the first of them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One visible row: the index of its step, its depth below its parents.

    `count` is 0 for a plain step, the number of hidden descendants of a folded parent, and the number of laps
    that a row of laps stands for.
    """

    index: int
    depth: int = 0
    count: int = 0
    kind: RowKind = RowKind.STEP


@dataclass(frozen=True, slots=True)
class Fold:
    """What is folded: a parent by its step number, or a loop by the number of its first step."""

    kind: RowKind
    number: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The visible rows, by ascending index, and for each step the row that shows or stands for it."""

    rows: tuple[Row, ...]
    row_of: Sequence[int]

    def shows(self, index: int) -> bool:
        """Whether the step is a row itself."""
        return self.rows[self.row_of[index]].index == index


def lay_out(outline: Outline, folded: frozenset[Fold]) -> Layout:
    """The layout of a run with these things folded; folds that fit nothing are ignored."""
    if not folded:
        rows = tuple([Row(index, depth) for index, depth in enumerate(outline.depths)])
        return Layout(rows, range(len(rows)))
    folding = _Folding(outline, folded)
    for index in range(len(outline.steps)):
        folding.add(index)
    return Layout(tuple(folding.rows()), folding.row_of)


class _Folding:
    """Lays out one step after the other; parents come before their children."""

    def __init__(self, outline: Outline, folded: frozenset[Fold]) -> None:
        self._outline = outline
        self._parents = {fold.number for fold in folded if fold.kind is RowKind.PARENT}
        self._loops = {fold.number for fold in folded if fold.kind is RowKind.LAPS}
        self._shown: list[int] = []
        self._laps: dict[int, int] = {}
        self._kinds: dict[int, RowKind] = {}
        self._counts: Counter[int] = Counter()
        self.row_of: list[int] = []

    def add(self, index: int) -> None:
        row = self._row_above(self._outline.parents[index])
        if row is None:
            row = self._row_of_laps(index)
        elif self._kinds.setdefault(self._shown[row], RowKind.PARENT) is RowKind.PARENT:
            self._counts[self._shown[row]] += 1
        if row is None:
            row = len(self._shown)
            self._shown.append(index)
        self.row_of.append(row)

    def _row_above(self, parent: int) -> int | None:
        """The row that hides the children of `parent`, None where they are not hidden by it."""
        if parent < 0:
            return None
        row = self.row_of[parent]
        hidden = self._shown[row] != parent or self._kinds.get(parent) is RowKind.LAPS
        return row if hidden or self._outline.steps[parent].number in self._parents else None

    def _row_of_laps(self, index: int) -> int | None:
        """The row of the folded laps that this step is in; None for the first of them, which is that row."""
        place = self._outline.places.get(self._outline.steps[index].number)
        if place is None or place.lap < 2 or place.loop.first not in self._loops:
            return None
        row = self._laps.get(place.loop.first)
        if row is None:
            self._laps[place.loop.first] = len(self._shown)
            self._kinds[index] = RowKind.LAPS
            self._counts[index] = place.loop.laps - 1
        return row

    def rows(self) -> list[Row]:
        depths, kinds = self._outline.depths, self._kinds
        return [Row(i, depths[i], self._counts[i], kinds.get(i, RowKind.STEP)) for i in self._shown]


def _lap(outline: Outline, index: int) -> int:
    return outline.places[outline.steps[index].number].lap


def parent_fold(outline: Outline, index: int) -> Fold | None:
    """The fold that hides the descendants of this step, None where it has none."""
    return Fold(RowKind.PARENT, outline.steps[index].number) if index in outline.with_children else None


def loop_fold(outline: Outline, index: int) -> Fold | None:
    """The fold of the loop that this step is in."""
    place = outline.places.get(outline.steps[index].number)
    return None if place is None else Fold(RowKind.LAPS, place.loop.first)


def fold_around(outline: Outline, layout: Layout, index: int) -> Fold | None:
    """What Enter folds or unfolds at a visible step: its laps, else its children, its loop, its parent."""
    own, loop, parent = parent_fold(outline, index), loop_fold(outline, index), outline.parents[index]
    if layout.rows[layout.row_of[index]].kind is RowKind.LAPS:
        return loop
    return own or loop or (parent_fold(outline, parent) if parent >= 0 else None)


def folds_hiding(outline: Outline, folded: frozenset[Fold], index: int) -> frozenset[Fold]:
    """The folds that have to go for this step to be a row of its own."""
    hiding: set[Fold] = set()
    at = index
    while at >= 0:
        loop = loop_fold(outline, at)
        if loop in folded and loop is not None and _lap(outline, at) > 1:
            hiding.add(loop)
        if at != index and (own := parent_fold(outline, at)) in folded and own is not None:
            hiding.add(own)
        at = outline.parents[at]
    return frozenset(hiding)
