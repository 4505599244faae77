"""Steps that have all in common but their input, and are still to be asked for."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator

from stepwell.core.identity import Identities, Question
from stepwell.core.recorded import RecordedRun, RecordedStep


class Waiting:
    """Finds them by what is asked. The input of each is looked at once, and not before somebody gets to it."""

    def __init__(self, run: RecordedRun, identities: Identities) -> None:
        self._run, self._identities = run, identities
        self._unread: list[int] = []
        """Numbers of steps, as are those of the next two. Those that are read come before these."""
        self._read: dict[bytes, list[int]] = defaultdict(list)
        """By digest."""
        self._loose: list[int] = []
        """Of those that may be asked for with another."""

    def add(self, step: RecordedStep) -> None:
        insort(self._unread, step.number)

    def remove(self, step: RecordedStep) -> None:
        places = [self._unread, self._loose, self._read.get(self._identities.digest(step), [])]
        next(place for place in places if _holds(place, step.number)).remove(step.number)

    def matching(self, question: Question) -> Iterator[RecordedStep]:
        """The steps that `question` is, in recorded order. Nothing may be removed meanwhile."""
        loose = [n for n in self._loose if self._identities.is_asked_by(question, self._run.by_number[n])]
        alike = self._read.get(question.digest, [])
        for number in sorted([*alike, *loose]) if loose else tuple(alike):
            yield self._run.by_number[number]
        while self._unread:
            step = self._run.by_number[self._unread.pop(0)]
            if self._identities.is_loose(step):
                self._loose.append(step.number)
            else:
                self._read[self._identities.digest(step)].append(step.number)
            if self._identities.is_asked_by(question, step):
                yield step


def _holds(numbers: list[int], number: int) -> bool:
    """Whether it is in a list in order."""
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number
