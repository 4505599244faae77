"""The heads of a run's steps, in columns: a hundred thousand of them in a few megabytes, made when looked at."""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import compress
from operator import eq
from typing import NamedTuple, overload

from stepwell.core.columns import Ints, Piece, Texts, both, either, neither
from stepwell.core.steps import TOOL_CALL, StepHead

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Times are whole microseconds since then, as Postgres counts."""
_MICROSECOND = timedelta(microseconds=1)


def microseconds(time: datetime) -> int:
    """Since EPOCH; a time without a zone is taken for UTC."""
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // _MICROSECOND


def moment(time: int | None) -> datetime | None:
    """The other way; None for what no datetime can be, as the infinity of Postgres."""
    with suppress(OverflowError):
        return None if time is None else EPOCH + timedelta(microseconds=time)
    return None


class Growth(NamedTuple):
    """Heads with steps added and changed."""

    heads: "Heads"
    start: int
    """The index of the first step that is new or has changed, or came to stand elsewhere."""
    inserted: Sequence[int]
    """Before which of the old steps new ones came in, by index, in order; what follows the old ones is left out."""


@dataclass(frozen=True, eq=False)
class Heads(Sequence[StepHead]):
    """Heads by ascending number, one column for each of their fields. Immutable; a head is made anew each time.

    Equal to any other sequence of the same heads.
    """

    number: Ints
    type: Texts
    output: bytes
    """1 where there is one."""
    created: Ints
    seed: Texts
    """Of whatever size."""
    agent: Texts
    name: Texts
    parent: Ints
    started: Ints
    finished: Ints
    finished_order: Ints
    error: Texts
    tokens_in: Ints
    tokens_out: Ints
    finish_reason: Texts
    call_hash: Ints

    @classmethod
    def of(cls, steps: Iterable[StepHead]) -> "Heads":
        """The same heads, in columns. Raises OverflowError for a number, not a seed, of more than 64 bits."""
        if isinstance(steps, Heads):
            return steps
        rows = list(steps)
        return cls(
            number=Ints.of(row.number for row in rows),
            type=Texts.of(row.type for row in rows),
            output=bytes([row.has_output for row in rows]),
            created=Ints.of(_time(row.created) for row in rows),
            seed=Texts.of(None if row.seed is None else str(row.seed) for row in rows),
            agent=Texts.of(row.agent for row in rows),
            name=Texts.of(row.name for row in rows),
            parent=Ints.of(row.parent for row in rows),
            started=Ints.of(_time(row.started) for row in rows),
            finished=Ints.of(_time(row.finished) for row in rows),
            finished_order=Ints.of(row.finished_order for row in rows),
            error=Texts.of(row.error for row in rows),
            tokens_in=Ints.of(row.tokens_in for row in rows),
            tokens_out=Ints.of(row.tokens_out for row in rows),
            finish_reason=Texts.of(row.finish_reason for row in rows),
            call_hash=Ints.of(row.call_hash for row in rows),
        )

    def __len__(self) -> int:
        return len(self.output)

    @overload
    def __getitem__(self, index: int) -> StepHead: ...

    @overload
    def __getitem__(self, index: slice) -> "Heads": ...

    def __getitem__(self, index: int | slice) -> "StepHead | Heads":
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return Heads.of([self[each] for each in range(start, stop, step)])
            return _joined([self], [(0, start, max(start, stop))])
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        at = index % len(self)
        return StepHead(
            self.numbers[at],
            self.type[at] or "",
            bool(self.output[at]),
            moment(self.created[at]),
            _whole(self.seed[at]),
            self.agent[at],
            self.name[at],
            self.parent[at],
            moment(self.started[at]),
            moment(self.finished[at]),
            self.finished_order[at],
            self.error[at],
            self.tokens_in[at],
            self.tokens_out[at],
            self.finish_reason[at],
            self.call_hash[at],
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(mine == its for mine, its in zip(self, other, strict=True))
        )

    @property
    def numbers(self) -> "array[int]":
        """Step numbers, ascending; there may be gaps and repetitions."""
        return self.number.values if self.number.values is not None else array("q")

    def index_of(self, number: int) -> int | None:
        """The first step of that number."""
        numbers = self.numbers
        guess = number - numbers[0] if numbers else 0  # right where there are no gaps
        if not (0 < guess < len(numbers) and numbers[guess] == number > numbers[guess - 1]):
            guess = bisect_left(numbers, number)
        return guess if guess < len(numbers) and numbers[guess] == number else None

    @cached_property
    def raised(self) -> bytes:
        """1 for each step that raised."""
        return self.error.mask

    @cached_property
    def in_doubt(self) -> bytes:
        """1 for each step that is `StepHead.in_doubt`."""
        return neither(self.output, self.raised, self.finished.mask) if self.output else b""

    @cached_property
    def unfinished(self) -> tuple[list[int], list[int]]:
        """The numbers of the steps in doubt: of those alone with their number, and of those that repeat."""
        numbers = self.numbers
        again = set(compress(numbers, map(eq, numbers, numbers[1:])))
        found = list(compress(numbers, self.in_doubt))
        return [number for number in found if number not in again], sorted(again.intersection(found))

    @cached_property
    def calls(self) -> bytes:
        """1 for each finished tool call, which may be part of a loop."""
        return both(self.type.is_(TOOL_CALL), self.call_hash.mask) if self.output else b""

    @cached_property
    def began(self) -> Ints:
        """When each step started, else when it was created."""
        started, created = self.started, self.created
        if created.values is None or started.values is None:
            return created if started.values is None else started
        if started.known is None:
            return started
        values = [
            one if known else other
            for one, known, other in zip(started.values, started.known, created.values, strict=True)
        ]
        known = either(started.mask, created.mask)
        return Ints(len(self), array("q", values), known if 0 in known else None)

    def grown(self, new: Sequence[StepHead], updated: Sequence[StepHead]) -> Growth:
        """With these steps added, and others changed, by number; where one repeats, in row order."""
        added = new if isinstance(new, Heads) else Heads.of(sorted(new, key=lambda step: step.number))
        changed, end = Heads.of(updated), len(self)
        events = [(at, 1, place) for place, at in self.places(changed.numbers)]
        after = not self or not added or added.numbers[0] >= self.numbers[-1]
        inserted = [] if after else [bisect_right(self.numbers, number) for number in added.numbers]
        events += [(at, 2, place) for place, at in enumerate(inserted)]
        events.sort(key=lambda event: (event[0], -event[1], event[2]))
        start = min((at for at, _, _ in events), default=end)
        pieces = [*_pieces(events, end), (2, 0, len(added) if after else 0)]
        return Growth(_joined([self, changed, added], pieces), start, inserted)

    def places(self, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
        """The position of each number in `numbers`, and the index of its step, of several the next one."""
        seen: Counter[int] = Counter()
        for place, number in enumerate(numbers):
            first = self.index_of(number)
            if first is None:
                continue
            at = first + seen[number]
            seen[number] += 1
            if at < len(self) and self.numbers[at] == number:
                yield place, at


def _pieces(events: Iterable[tuple[int, int, int]], end: int) -> list[Piece]:
    """What lies between the events, of column 0, and what each puts in: 1 instead of a step, 2 before it."""
    pieces: list[Piece] = []
    at = 0
    for index, which, place in events:
        if index > at:
            pieces.append((0, at, index))
        if pieces and pieces[-1][0] == which and pieces[-1][2] == place:
            pieces[-1] = (which, pieces[-1][1], place + 1)
        else:
            pieces.append((which, place, place + 1))
        at = index + (which == 1)
    return [*pieces, (0, at, end)]


def _joined(heads: Sequence[Heads], pieces: Sequence[Piece]) -> Heads:
    """The pieces of these heads, one after the other."""

    def ints(name: str) -> Ints:
        return Ints.joined([getattr(each, name) for each in heads], pieces)

    def texts(name: str) -> Texts:
        return Texts.joined([getattr(each, name) for each in heads], pieces)

    return Heads(
        number=ints("number"),
        type=texts("type"),
        output=b"".join([heads[which].output[start:stop] for which, start, stop in pieces]),
        created=ints("created"),
        seed=texts("seed"),
        agent=texts("agent"),
        name=texts("name"),
        parent=ints("parent"),
        started=ints("started"),
        finished=ints("finished"),
        finished_order=ints("finished_order"),
        error=texts("error"),
        tokens_in=ints("tokens_in"),
        tokens_out=ints("tokens_out"),
        finish_reason=texts("finish_reason"),
        call_hash=ints("call_hash"),
    )


def _time(time: datetime | None) -> int | None:
    return None if time is None else microseconds(time)


def _whole(text: str | None) -> int | None:
    """A seed that is no whole number is not known."""
    with suppress(ValueError):
        return None if text is None else int(text)
    return None
