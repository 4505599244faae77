"""Which step was taken inside of which: parents, depths, descendants."""

from array import array
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from stepwell.core.columns import positions
from stepwell.core.heads import Heads


@dataclass(frozen=True, eq=False)
class Nesting:
    """The steps that have a parent, by index. A parent comes before its children or is none."""

    nested: "array[int]"
    parents: "array[int]"
    """For every step, -1 for none; empty where no step has one."""
    depths: "array[int]"

    def parent(self, index: int) -> int:
        """The index of the parent, -1 for none."""
        return self.parents[index] if self.parents else -1

    def depth(self, index: int) -> int:
        """How many parents are above a step."""
        return self.depths[index] if self.depths else 0

    @cached_property
    def descendants(self) -> Counter[int]:
        """For each step that is a parent the number of steps below it."""
        found: Counter[int] = Counter()
        for index in reversed(self.nested):
            found[self.parents[index]] += 1 + found.get(index, 0)
        return found


def nesting(steps: Heads, former: Nesting | None = None, start: int = 0) -> Nesting:
    """What is known of the steps before `start` from `former` is not looked at again."""
    nested = former.nested[: bisect_left(former.nested, start)] if former and start else array("i")
    known = positions(steps.parent.mask[start:])
    if not nested and not known:
        return Nesting(array("i"), array("i"), array("i"))
    parents = former.parents[:start] if former and former.parents else array("i", [-1]) * start
    depths = former.depths[:start] if former and former.depths else array("i", bytes(4 * start))
    parents.extend(array("i", [-1]) * (len(steps) - start))
    depths.extend(array("i", bytes(4 * (len(steps) - start))))
    for place in known:
        index = place + start
        number = steps.parent[index]
        parent = None if number is None else steps.index_of(number)
        if parent is not None and parent < index:
            parents[index], depths[index] = parent, depths[parent] + 1
            nested.append(index)
    return Nesting(nested, parents, depths)
