"""Which rows are visible: a folded parent hides what it called, a folded loop all laps but the first."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import overload

from stepwell.core.columns import positions
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


_SHOWN, _BELOW, _LATER = 0, 1, 2
"""A step is a row, or hidden by what is above it, or by the row of the laps that it is in."""
_ROW = bytes([1, 0, 0]).ljust(256, b"\0")


@dataclass(frozen=True, eq=False)
class Layout(Sequence[Row]):
    """The visible rows, by ascending index of their steps; each is made when it is looked at."""

    outline: Outline
    folded: frozenset[Fold] = frozenset()
    shown: Sequence[int] = field(default=())
    """The indexes of the steps that are rows."""
    hidden: bytes = b""
    """How each step is hidden; empty where none is."""
    laps: Mapping[int, int] = field(default_factory=dict)
    """The first step of a folded loop to the step whose row stands for its other laps, both by index."""

    def __len__(self) -> int:
        return len(self.shown)

    @overload
    def __getitem__(self, row: int) -> Row: ...

    @overload
    def __getitem__(self, row: slice) -> tuple[Row, ...]: ...

    def __getitem__(self, row: int | slice) -> Row | tuple[Row, ...]:
        if isinstance(row, slice):
            return tuple([self._row(index) for index in self.shown[row]])
        return self._row(self.shown[row])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and tuple(self) == tuple(other)

    def shows(self, index: int) -> bool:
        """Whether the step is a row itself."""
        return not self.hidden or self.hidden[index] == _SHOWN

    def row_of(self, index: int) -> int:
        """The row that shows a step or stands for it."""
        while not self.shows(index):
            if self.hidden[index] == _BELOW:
                index = self.outline.nesting.parent(index)
            else:
                first = self.outline.laps.first_of(index)
                index = index if first is None else self.laps[first]
        return bisect_left(self.shown, index)

    def is_laps(self, index: int) -> bool:
        """Whether the row of this step stands for laps."""
        first = self.outline.laps.first_of(index) if self.laps else None
        return first is not None and self.laps.get(first) == index

    def _row(self, index: int) -> Row:
        nesting = self.outline.nesting
        depth = nesting.depth(index)
        if self.is_laps(index):
            return Row(index, depth, self.outline.laps.laps_after(index), RowKind.LAPS)
        if self.folded and (fold := parent_fold(self.outline, index)) in self.folded and fold is not None:
            return Row(index, depth, nesting.descendants[index], RowKind.PARENT)
        return Row(index, depth)


def lay_out(outline: Outline, folded: frozenset[Fold]) -> Layout:
    """The layout of a run with these things folded; folds that fit nothing are ignored."""
    size = len(outline.steps)
    parents = {fold.number for fold in folded if fold.kind is RowKind.PARENT}
    loops = {fold.number for fold in folded if fold.kind is RowKind.LAPS}
    if not folded:
        return Layout(outline, folded, range(size))
    hidden, laps = bytearray(size), dict[int, int]()
    if outline.nesting.nested:
        _hide(outline, parents, loops, hidden, laps)
    else:
        for first, later in _folded_laps(outline, loops):
            laps[first] = later[0]
            if isinstance(later, range):
                hidden[later.start + 1 : later.stop] = bytes([_LATER]) * (len(later) - 1)
            else:
                for index in later[1:]:
                    hidden[index] = _LATER
    return Layout(outline, folded, positions(bytes(hidden.translate(_ROW))), bytes(hidden), laps)


def _folded_laps(outline: Outline, loops: set[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Of each folded loop its first step, and its steps from the second lap on, by index."""
    for agent, first, between in outline.laps.later():
        if outline.steps.numbers[first] in loops:
            own = outline.by_agent[agent]
            yield first, own[bisect_left(own, between.start) : bisect_left(own, between.stop)]


def _hide(
    outline: Outline, parents: set[int], loops: set[int], hidden: bytearray, laps: dict[int, int]
) -> None:
    """Hide what is below something folded or hidden, then what is in folded laps: parents before children."""
    first_of = {index: first for first, later in _folded_laps(outline, loops) for index in later}
    nesting, numbers = outline.nesting, outline.steps.numbers
    standing: set[int] = set()
    for index in sorted({*nesting.nested, *first_of}):
        parent = nesting.parent(index)
        if parent >= 0 and (hidden[parent] or parent in standing or numbers[parent] in parents):
            hidden[index] = _BELOW
        elif (first := first_of.get(index)) is not None:
            if first in laps:
                hidden[index] = _LATER
            else:
                laps[first] = index
                standing.add(index)


def parent_fold(outline: Outline, index: int) -> Fold | None:
    """The fold that hides the descendants of this step, None where it has none."""
    if index not in outline.nesting.descendants:
        return None
    return Fold(RowKind.PARENT, outline.steps.numbers[index])


def loop_fold(outline: Outline, index: int) -> Fold | None:
    """The fold of the loop that this step is in."""
    first = outline.laps.first_of(index)
    return None if first is None else Fold(RowKind.LAPS, outline.steps.numbers[first])


def fold_around(outline: Outline, layout: Layout, index: int) -> Fold | None:
    """What Enter folds or unfolds at a visible step: its laps, else its children, its loop, its parent."""
    own, loop = parent_fold(outline, index), loop_fold(outline, index)
    if layout.is_laps(index):
        return loop
    parent = outline.nesting.parent(index)
    return own or loop or (parent_fold(outline, parent) if parent >= 0 else None)


def folds_hiding(outline: Outline, folded: frozenset[Fold], index: int) -> frozenset[Fold]:
    """The folds that have to go for this step to be a row of its own."""
    hiding: set[Fold] = set()
    at = index
    while at >= 0:
        place = outline.place(at)
        loop = None if place is None or place.lap < 2 else Fold(RowKind.LAPS, place.loop.first)
        own = None if at == index else parent_fold(outline, at)
        hiding |= {fold for fold in (loop, own) if fold in folded and fold is not None}
        at = outline.nesting.parent(at)
    return frozenset(hiding)
