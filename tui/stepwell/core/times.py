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

    def before(self, time: int, at_least: int = 0) -> int:
        """How many steps began before that; of these `at_least` are known to have."""
        return bisect_left(self.values, time, at_least)


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
    return Times(array("q", map(values.__getitem__, order)), array("q", order))
