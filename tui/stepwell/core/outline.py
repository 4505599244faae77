"""What follows from a run's steps alone: order, parents, loops, marks; each worked out when first needed."""

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from stepwell.core.breakpoints import Condition
from stepwell.core.columns import either, overlaid, positions
from stepwell.core.heads import Heads
from stepwell.core.laps import Laps, Place, by_agent
from stepwell.core.nesting import Nesting, nesting
from stepwell.core.spans import NO_SPANS, Spans, spans
from stepwell.core.steps import Loop
from stepwell.core.times import Times, times

ERROR, IN_DOUBT, RUNNING = "!", "?", "~"
UNKNOWN_LETTER = "-"
_LOWER = b"\x20"
"""What makes an ASCII letter a small one."""


@dataclass(frozen=True, eq=False)
class Outline:
    """The steps in row order, by index from 0. Step numbers ascend; they may have gaps and repeat."""

    steps: Heads
    running: bool = False
    _hits: dict[Condition, "array[int]"] = field(default_factory=dict, init=False, repr=False)
    _lanes: dict[str | None, Spans] = field(default_factory=dict, init=False, repr=False)
    _calls: dict[tuple[int, int], list[int]] = field(default_factory=dict, init=False, repr=False)
    drawn: dict[object, str] = field(default_factory=dict, init=False, repr=False)
    """What `lanes` has drawn of these steps."""

    def grown(self, steps: Heads, running: bool, start: int) -> "Outline":
        """Of the run with these steps, the same before `start`: what was worked out of those is carried over."""
        new = Outline(steps, running)
        known, carried = vars(self), vars(new)
        if "by_agent" in known:
            carried["by_agent"] = by_agent(steps, self.by_agent, start)
        if "laps" in known:
            carried["laps"] = Laps.of(steps, new.by_agent, self.laps, start)
        if "nesting" in known:
            carried["nesting"] = nesting(steps, self.nesting, start)
        if "times" in known:
            carried["times"] = times(steps, self.times, start)
        if running == self.running and start <= len(self.steps):
            for agent, lane in self._lanes.items():
                if agent in new.by_agent:
                    new._lanes[agent] = new._spans(agent, lane, start)
        return new

    def index_of(self, number: int) -> int | None:
        """The first step of that number."""
        return self.steps.index_of(number)

    def nearest(self, number: int) -> int:
        """The step whose number is closest, the lower of two; there must be a step."""
        numbers = self.steps.numbers
        at = bisect_left(numbers, number)
        near = [k for k in (at - 1, at) if 0 <= k < len(numbers)]
        return min(near, key=lambda k: abs(numbers[k] - number))

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and the highest step number; there must be a step."""
        return self.steps.numbers[0], self.steps.numbers[-1]

    @cached_property
    def nesting(self) -> Nesting:
        """Parents and depths, by index."""
        return nesting(self.steps)

    @cached_property
    def by_agent(self) -> Mapping[str | None, Sequence[int]]:
        """Agent to the indexes of its steps; agents in the order in which they appear."""
        return by_agent(self.steps)

    @cached_property
    def times(self) -> Times:
        """When steps began, in order; steps without a time are left out."""
        return times(self.steps)

    @cached_property
    def laps(self) -> Laps:
        """Which steps are in loops."""
        return Laps.of(self.steps, self.by_agent)

    @property
    def loops(self) -> tuple[Loop, ...]:
        return self.laps.loops

    def place(self, index: int) -> Place | None:
        """The place of a step in a loop, None outside of loops."""
        return self.laps.place(index)

    def same_calls(self, index: int) -> list[int]:
        """The numbers of the other calls of this agent with the same arguments and result as this one."""
        steps, own = self.steps, self.steps.numbers[index]
        call, agent = steps.call_hash[index], steps.agent.codes[index]
        if call is None:
            return []
        if (call, agent) not in self._calls:
            same = [other for other in steps.call_hash.where(call) if steps.agent.codes[other] == agent]
            self._calls[call, agent] = [steps.numbers[other] for other in same]
        return [number for number in self._calls[call, agent] if number != own]

    @cached_property
    def faults(self) -> "array[int]":
        """Indexes of the steps that raised or, in a run that has ended, stayed in doubt."""
        if not self.steps or self.running:
            return positions(self.steps.raised)
        return positions(either(self.steps.raised, self.steps.in_doubt))

    @cached_property
    def letters(self) -> str:
        """A letter a step: the initial of its type, lower case from the second lap on."""
        types = self.steps.type
        initials = "".join([_initial(word or "") for word in types.words])
        if isinstance(types.codes, bytes):
            letters = types.codes.translate(initials.encode().ljust(256))
        else:
            letters = "".join(map(initials.__getitem__, types.codes)).encode()
        return either(letters, self._later_laps()).decode() if self.loops else letters.decode()

    def _later_laps(self) -> bytes:
        """What makes small the letters from the second laps on."""
        found = bytearray(len(self.steps))
        for agent, _, between in self.laps.later():
            own = self.by_agent[agent]
            if isinstance(own, range):
                found[between.start : between.stop] = _LOWER * len(between)
            else:
                for index in own[bisect_left(own, between.start) : bisect_left(own, between.stop)]:
                    found[index] = _LOWER[0]
        return bytes(found)

    @cached_property
    def marks(self) -> str:
        """A mark a step: `!` error, `?` in doubt, `~` still running, else its letter."""
        steps, letters = self.steps, self.letters.encode()
        if not steps:
            return ""
        unfinished = overlaid(letters, steps.in_doubt, self.unfinished.encode() * len(steps))
        return overlaid(unfinished, steps.raised, ERROR.encode() * len(steps)).decode()

    @property
    def unfinished(self) -> str:
        """The mark of a step in doubt."""
        return RUNNING if self.running else IN_DOUBT

    def agent_marks(self, agent: str | None) -> str:
        """The marks of one agent's steps among those of all, each call followed by `=` as far as it spans.

        `.` stands for the steps of others. A running call shows its letter: its span says that it runs.
        """
        found = self._lanes.get(agent)
        if found is None:
            found = self._lanes[agent] = self._spans(agent)
        marks = self.marks.encode()
        if self.running:
            marks = overlaid(marks, self.steps.in_doubt, self.letters.encode())
        return overlaid(found.line, self.steps.agent.is_(agent), marks).decode()

    def _spans(self, agent: str | None, former: Spans = NO_SPANS, start: int = 0) -> Spans:
        own, running = self.by_agent[agent], self.running
        return spans(self.steps, self.times, own, running=running, former=former, start=start)

    def hits(self, condition: Condition) -> "array[int]":
        """Indexes of the steps that a condition matches, in order."""
        found = self._hits.get(condition)
        if found is None:
            found = self._hits[condition] = condition.find(self)
        return found

    def is_hit(self, condition: Condition, index: int) -> bool:
        """Whether a condition matches the step."""
        found = self.hits(condition)
        at = bisect_left(found, index)
        return at < len(found) and found[at] == index


def utc(time: datetime) -> datetime:
    """The same instant in UTC; a time without a zone is taken for UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _initial(step_type: str) -> str:
    letter = step_type[:1].upper()[:1]
    return letter if letter.isascii() and letter.isalpha() else UNKNOWN_LETTER
