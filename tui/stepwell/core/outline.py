"""What follows from a run's steps alone: order, parents, loops, marks; each worked out when first needed."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from stepwell.core.breakpoints import Condition, is_fault
from stepwell.core.loops import Place, find_loops, places
from stepwell.core.steps import Loop, StepHead

ERROR, IN_DOUBT, RUNNING = "!", "?", "~"
UNKNOWN_LETTER = "-"
EMPTY, SPAN = ".", "="


@dataclass(frozen=True)
class Outline:
    """The steps in row order, by index from 0. Step numbers may have gaps, begin anywhere, and repeat."""

    steps: tuple[StepHead, ...]
    running: bool = False
    _hits: dict[Condition, tuple[int, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _lanes: dict[str | None, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def _by_number(self) -> tuple[list[int], list[int]]:
        order = sorted(range(len(self.steps)), key=lambda index: self.steps[index].number)
        return [self.steps[index].number for index in order], order

    @cached_property
    def _first_of(self) -> dict[int, int]:
        return {step.number: index for index, step in reversed(list(enumerate(self.steps)))}

    def index_of(self, number: int) -> int | None:
        """The first step of that number."""
        return self._first_of.get(number)

    def nearest(self, number: int) -> int:
        """The step whose number is closest, the lower of two; there must be a step."""
        numbers, order = self._by_number
        at = bisect_left(numbers, number)
        near = [k for k in (at - 1, at) if 0 <= k < len(numbers)]
        return order[min(near, key=lambda k: abs(numbers[k] - number))]

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and the highest step number; there must be a step."""
        numbers, _ = self._by_number
        return numbers[0], numbers[-1]

    @cached_property
    def parents(self) -> list[int]:
        """Index to index of the parent, -1 for none. A parent comes before its children or is none."""
        found: list[int] = []
        for index, step in enumerate(self.steps):
            parent = None if step.parent is None else self.index_of(step.parent)
            found.append(-1 if parent is None or parent >= index else parent)
        return found

    @cached_property
    def depths(self) -> list[int]:
        found: list[int] = []
        for parent in self.parents:
            found.append(0 if parent < 0 else found[parent] + 1)
        return found

    @cached_property
    def with_children(self) -> frozenset[int]:
        """Indexes of the steps that are a parent."""
        return frozenset(self.parents) - {-1}

    @cached_property
    def by_agent(self) -> dict[str | None, list[int]]:
        """Agent to the indexes of its steps; agents in the order in which they appear."""
        found: dict[str | None, list[int]] = {}
        for index, step in enumerate(self.steps):
            found.setdefault(step.agent, []).append(index)
        return found

    @cached_property
    def times(self) -> tuple[list[datetime], list[int]]:
        """When steps began, in UTC and in order, and their indexes; steps without a time are left out."""
        known = [
            (utc(time), index)
            for index, step in enumerate(self.steps)
            if (time := step.started or step.created) is not None
        ]
        known.sort()
        return [time for time, _ in known], [index for _, index in known]

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        return find_loops(self.steps)

    @cached_property
    def places(self) -> dict[int, Place]:
        """Step number to its place in a loop."""
        return places(self.steps, self.loops) if self.loops else {}

    @cached_property
    def lap_opened(self) -> Mapping[int, int]:
        """Step number to lap, for the first call of every lap."""
        return {number: place.lap for number, place in self.places.items() if place.opens}

    @cached_property
    def lap_starts(self) -> list[int]:
        """Indexes of the first call of every lap, in order."""
        return [index for index, step in enumerate(self.steps) if step.number in self.lap_opened]

    @cached_property
    def faults(self) -> list[int]:
        """Indexes of the steps that raised or stayed in doubt."""
        return [index for index, step in enumerate(self.steps) if is_fault(step, self.running)]

    @cached_property
    def letters(self) -> str:
        """A letter a step: the initial of its type, lower case from the second lap on."""
        places, initials = self.places, {step.type: _initial(step.type) for step in self.steps}
        plain = [initials[step.type] for step in self.steps]
        if places:
            for index, step in enumerate(self.steps):
                place = places.get(step.number)
                if place is not None and place.lap > 1:
                    plain[index] = plain[index].lower()
        return "".join(plain)

    @cached_property
    def marks(self) -> str:
        """A mark a step: `!` error, `?` in doubt, `~` still running, else its letter."""
        unfinished = RUNNING if self.running else IN_DOUBT
        return "".join(
            ERROR if step.error is not None else unfinished if step.in_doubt else letter
            for step, letter in zip(self.steps, self.letters, strict=True)
        )

    def agent_marks(self, agent: str | None) -> str:
        """The marks of one agent's steps among those of all, each call followed by `=` as far as it spans.

        `.` stands for the steps of others. A running call shows its letter: its span says that it runs.
        """
        found = self._lanes.get(agent)
        if found is None:
            line = bytearray(EMPTY.encode() * len(self.steps))
            own = self.by_agent[agent]
            for index in own:
                end = self._spans_to(index)
                if end > index + 1:
                    line[index + 1 : end] = SPAN.encode() * (end - index - 1)
            for index in own:
                mark = self.marks[index]
                line[index] = ord(self.letters[index] if mark == RUNNING else mark)
            found = self._lanes[agent] = line.decode()
        return found

    def _spans_to(self, index: int) -> int:
        """The index up to which steps began before this one had finished."""
        step = self.steps[index]
        if self.running and step.in_doubt:
            return len(self.steps)
        times, indexes = self.times
        if step.finished is None or len(times) < len(self.steps):
            return index
        before = bisect_left(times, utc(step.finished))
        return indexes[before - 1] + 1 if before else index

    def hits(self, condition: Condition) -> tuple[int, ...]:
        """Indexes of the steps that a condition matches, in order."""
        found = self._hits.get(condition)
        if found is None:
            found = tuple(index for index, step in enumerate(self.steps) if condition.matches(step, self))
            self._hits[condition] = found
        return found


def utc(time: datetime) -> datetime:
    """The same instant in UTC; a time without a zone is taken for UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _initial(step_type: str) -> str:
    letter = step_type[:1].upper()
    return letter if letter.isascii() and letter.isalpha() else UNKNOWN_LETTER
