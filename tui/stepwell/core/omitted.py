"""What the connection of a recorded run wrote and re-executed code did not. Pure.

The instants of a run's steps say where each write lies. One that lies within a step whose code was not executed again
is that step's; so is, to be sure, one of which its instants do not tell on which side of it that lies.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from stepwell.core.changed import end_of, sees
from stepwell.core.past import Instant
from stepwell.core.verdicts import xmin_of

SHOWN = 3
"""How many keys a note names."""
NEVER_OVER = 2**64


Key = tuple[str, ...]


class Stand(NamedTuple):
    """Between two steps of a thread or task, or within one that is executed. `step` is None before the first.

    `begun` is the step that the agent has asked for and has no answer of yet: its body is executed. Else `step` was
    answered last, and `following` is the step that was asked for next, None where there was none.
    """

    step: int | None
    begun: bool
    following: int | None

    @property
    def title(self) -> str:
        """In words that follow `as of`."""
        if self.step is None:
            return "the first step"
        return f"step {self.step}"


class Span(NamedTuple):
    """A step of the recording, with what its instants saw.

    `noted` is a transaction that began after its end, None where none is known.
    """

    number: int
    before: Instant | None
    after: Instant | None
    noted: int | None
    again: bool
    """Whether the agent's own code in it has been executed again, or there is none."""
    passed: bool
    """Whether the agent has got to its beginning."""
    over: bool
    """Whether it has got to its end."""


class Write(NamedTuple):
    """An entry of the log of watched table number `table`, by the agent's connection."""

    table: int
    key: Key
    removed: bool
    new: bool
    xid: int
    position: int
    backend: int


class Made(NamedTuple):
    """A row that the re-executed code wrote, and where it was; None where that is not known."""

    table: int
    key: Key
    new: bool
    stand: Stand | None


class Watched(NamedTuple):
    """What has to be known of a table for that."""

    name: str
    numbered: bool
    """Whether its rows may get other keys each time."""
    causes: Collection[int]
    """The numbers of tables a write to which may write to this one as well, which a replay does not do."""


class Course:
    """The course of a run: where in it a write lies. `single`: one thread or task has taken all steps."""

    def __init__(self, spans: Iterable[Span], begin: Instant | None, *, single: bool) -> None:
        self._spans = {span.number: span for span in spans}
        self._begin, self._single = begin, single
        instants = [each for span in self._spans.values() for each in (span.before, span.after) if each]
        self.backends = {each.backend for each in instants if each.backend is not None}
        """The server processes of the agent's connection."""
        self._owns = {each.own for each in instants}
        self._ordered = ordered = sorted(self._spans.values())
        self._places = {span.number: place for place, span in enumerate(ordered)}
        self._passed = [place for place, span in enumerate(ordered) if span.passed]
        self._asked_last = {
            each.backend: place
            for place, span in enumerate(ordered)
            for each in (span.before, span.after)
            if each is not None
        }
        """For each server process the last step at which it was asked what it saw."""
        self._over = list(
            accumulate((NEVER_OVER if span.noted is None else span.noted for span in ordered), max)
        )
        """For each step a transaction since which it and all before it were over."""
        begun = (0 if span.before is None else xmin_of(span.before) for span in reversed(ordered))
        self._begun = list(accumulate(begun, min))[::-1]
        """For each one before which all transactions had ended when it began, and all later ones."""
        self._known: dict[tuple[object, ...], int | None] = {}
        self._fitting: dict[tuple[object, ...], bool] = {}

    def due(self, write: Write) -> int | None:
        """The step by which the agent's own code had written it; None where it had not, or that is not known."""
        place = self._place(write)
        if place not in self._known:
            self._known[place] = self._due(write)
        return self._known[place]

    def fits(self, write: Write, stand: Stand | None) -> bool:
        """Whether what was written at that stand may be it. Of several threads or tasks one may be ahead."""
        if stand is None or not self._single:
            return True
        first, end = self._window(write)
        step, following = self._places.get(stand.step or -1), self._places.get(stand.following or -1)
        if (step is not None and step >= end) or (following is not None and following < first):
            return False
        place = (*self._place(write), stand)
        if place not in self._fitting:
            self._fitting[place] = self._fits(write, stand)
        return self._fitting[place]

    def _place(self, write: Write) -> tuple[object, ...]:
        """What is the same for writes that no instant parts."""
        return write.xid, write.backend, write.position if write.xid in self._owns else None

    def _window(self, write: Write) -> tuple[int, int]:
        """Places in the order of steps: before the first all were over by then, from the other on none had begun."""
        return bisect_left(self._over, write.xid), bisect_right(self._begun, write.xid)

    def _due(self, write: Write) -> int | None:
        """Only steps are looked at that were neither over before it nor began after it for sure."""
        first, end = self._window(write)
        at = bisect_left(self._passed, end)
        by = [self._ordered[self._passed[at]].number] if at < len(self._passed) else []
        is_later = first > 0 or (self._begin is not None and write.xid > end_of(self._begin))
        is_own = self._asked_last.get(write.backend, -1) >= end
        for span in self._ordered[first:end]:
            before, after = _was_there(write, span, span.before), _was_there(write, span, span.after)
            if not span.again and before is not True and after is not False:
                return None
            is_later = is_later or before is False or after is False
            is_own = is_own or any(
                was and each is not None and each.backend == write.backend
                for was, each in ((before, span.before), (after, span.after))
            )
            if (before is True and span.passed) or (after is True and span.over and span.again):
                by.append(span.number)
        return min(by, default=None) if is_own and is_later else None

    def _fits(self, write: Write, stand: Stand) -> bool:
        step, following = self._spans.get(stand.step or -1), self._spans.get(stand.following or -1)
        if step is not None and stand.begun:
            return (
                _was_there(write, step, step.before) is not True
                and _was_there(write, step, step.after) is not False
            )
        if step is not None and _was_there(write, step, step.after) is True:
            return False
        return following is None or _was_there(write, following, following.before) is not False


def _was_there(write: Write, span: Span, instant: Instant | None) -> bool | None:
    """At an instant of the step; None where it cannot tell.

    Where it was not taken on the agent's connection, the agent's transaction may have written by then and not be over.
    """
    if instant is not None and sees(instant, write.xid, write.position):
        return True
    if instant is not None and instant.backend == write.backend:
        return False
    return False if span.noted is not None and write.xid > span.noted else None


def left_out(
    course: Course, tables: Mapping[int, Watched], writes: Sequence[Write], made: Sequence[Made]
) -> Iterator[tuple[int, Write]]:
    """Which of these writes, in their order, nothing made stands for, each with the step by which it was due."""
    known = {(write.table, write.key) for write in writes}
    by_key, by_table = defaultdict(list), defaultdict(set)
    for each in made:
        by_key[each.table, each.key].append(each)
        by_table[each.table].add(each.stand)
    others: dict[int, list[list[Made]]] = defaultdict(list)
    """Of each table the rows that may be others of the recording's, those of one stand together."""
    for each in made:
        if each.new and tables[each.table].numbered and (each.table, each.key) not in known:
            alike = others[each.table]
            if not alike or alike[-1][0].stand != each.stand:
                alike.append([])
            alike[-1].append(each)
    for write in writes:
        number = course.due(write)
        if number is None or any(course.fits(write, each.stand) for each in by_key[write.table, write.key]):
            continue
        alike = others[write.table] if write.new else []
        rows = next((rows for rows in alike if course.fits(write, rows[0].stand)), None)
        if rows is not None:  # one of them is the same row, with a key of its own
            rows.pop()
            if not rows:
                alike.remove(rows)
        elif not any(
            course.fits(write, stand) for cause in tables[write.table].causes for stand in by_table[cause]
        ):
            yield number, write


def told(left_out: Iterable[tuple[int, Write]], tables: Mapping[int, Watched]) -> Iterator[str]:
    """As notes: `by step 3 the agent did not write orders, key 7, which the recording did`."""
    last = {(number, write.table, write.key): write.removed for number, write in left_out}
    keys: dict[tuple[int, int, bool], list[str]] = defaultdict(list)
    for (number, table, key), removed in last.items():
        keys[number, table, removed].append(", ".join(key))
    for (number, table, removed), found in sorted(keys.items()):
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        which = f"key {found[0]}" if len(found) == 1 else f"keys {'; '.join(found[:SHOWN])}{more}"
        what = f"did not {'remove' if removed else 'write'} {tables[table].name}, {which}"
        yield f"by step {number} the agent {what}, which the recording did"
