"""When steps began, in order of time."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import le

from stepwell.core.columns import positions
from stepwell.core.heads import Heads


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Microseconds (`heads.EPOCH`), ascending, and the indexes of the steps; those without a time are left out."""

    values: "array[int]"
    indexes: Sequence[int]

    @property
    def by_row(self) -> bool:
        """Whether every step has a time, none before that of the step before it."""
        return isinstance(self.indexes, range)

    def before(self, time: int) -> int:
        """How many steps began before that."""
        return bisect_left(self.values, time)

    def reach(self, time: int, known: int) -> int:
        """The index after the last of these steps, 0 for none; by row, `known` steps are known to be among them."""
        if self.by_row:
            return bisect_left(self.values, time, known)
        before = self.before(time)
        return self.indexes[before - 1] + 1 if before else 0


def times(steps: Heads, former: Times | None = None, start: int = 0) -> Times:
    """What is known of the steps before `start` from `former` is not looked at again."""
    began = steps.began
    if began.values is None:
        return Times(array("q"), array("q"))
    known = max(start - 1, 0) if former is not None and former.by_row else 0
    if began.known is None and all(map(le, began.values[known:], islice(began.values, known + 1, None))):
        return Times(began.values, range(len(steps)))
    values = began.values
    order = sorted(positions(began.mask), key=values.__getitem__)
    return Times(array("q", map(values.__getitem__, order)), array("i", order))
