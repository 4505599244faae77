"""Says in a replay's report what its agent wrote otherwise than the recorded run's own connection, or not at all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from psycopg import Connection

from stepwell.core.changed import end_of
from stepwell.core.divergence import Kind
from stepwell.core.omitted import Course, Made, Span, Stand, Watched, Write, left_out, told
from stepwell.core.steps import STATE_UPDATE
from stepwell.rerun.asof import Pasts
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.stops import BeginAgain, Diverged
from stepwell.store.asof import Standing, survey
from stepwell.store.held import is_known
from stepwell.store.omitted import read_made, read_watched, read_writes
from stepwell.store.overlays import Overlay, overlaid
from stepwell.store.settling import Otherwise


class Omissions:
    """Of one replay. What a stand-in did not write in place of its tool is none of the agent's."""

    def __init__(self, dialogue: Dialogue, stand_ins: Collection[str]) -> None:
        self._dialogue, self._stand_ins = dialogue, stand_ins
        self._stands: dict[str, Stand] = {}
        self._otherwise: list[tuple[Otherwise, Stand]] = []
        self.untold = False
        """Whether the agent may have written where it was not looked where it is."""

    def stands(self, mark: str, stand: Stand) -> None:
        """From this mark on the agent is there."""
        self._stands[mark] = stand

    def wrote(self, otherwise: Otherwise, stand: Stand) -> None:
        """The agent wrote it otherwise, as was found there."""
        self._otherwise.append((otherwise, stand))

    def say(self, connection: Connection[Any], pasts: Pasts, overlays: Sequence[Overlay] = ()) -> None:
        """Note it, and what the agent wrote otherwise, for as far as it has got. Raises what psycopg raises."""
        dialogue = self._dialogue
        single = len({step.lane for step in dialogue.run.steps}) == 1
        course = Course(self._spans(pasts, single=single), pasts.begin, single=single)
        if not course.backends or isinstance(dialogue.stop, BeginAgain):
            return
        # Of several threads or tasks others may not have got as far where one was stopped.
        is_told = not self.untold and (single or (dialogue.stop is None and not dialogue.live))
        standings = _standings(connection, pasts, overlays) if is_told else []
        writes = [
            write
            for each in standings
            for write in read_writes(connection, each, course.backends, pasts.instants)
            if course.due(write) is not None
        ]
        missed: list[tuple[int, Write]] = []
        tables: dict[int, Watched] = {}
        if writes:
            tables = read_watched(connection, standings, overlays)
            known = [overlay for overlay in overlays if overlay.standing.id in tables]
            made = [Made(*row[:3], self._stands.get(row.mark)) for row in read_made(connection, known)]
            missed = list(left_out(course, tables, sorted(writes, key=lambda each: each.position), made))
        places = {write.position for _, write in missed}
        for otherwise, stand in self._otherwise:
            if course.due(otherwise.write) is not None and otherwise.write.position not in places:
                dialogue.note(f"by {stand.title} the agent {otherwise.what}")
        for note in told(missed, tables):
            dialogue.note(note)

    def _spans(self, pasts: Pasts, *, single: bool) -> list[Span]:
        dialogue = self._dialogue
        passed, stop = set(dialogue.asked), dialogue.stop
        if single and isinstance(stop, Diverged) and stop.divergence.kind is Kind.INPUT:
            passed |= {stop.divergence.step or 0}  # it has got there, if with something else
        own = dialogue.executed
        return [
            Span(
                step.number,
                at.before,
                at.after if at.finished else None,
                at.noted,
                step.type == STATE_UPDATE or (step.number in own and step.name not in self._stand_ins),
                step.number in passed,
                step.number in dialogue.asked and step.number not in dialogue.inside,
            )
            for step in dialogue.run.steps
            if (at := pasts.steps.get(step.number)) is not None
        ]


def _standings(connection: Connection[Any], pasts: Pasts, overlays: Sequence[Overlay]) -> list[Standing]:
    """The tables that the agent may write to, as far as their logs are of the recording's server."""
    origin = next((each.origin for each in pasts.steps.values()), None)
    found = survey(connection, max(pasts.instants, key=end_of), origin)
    if not overlays:
        return overlaid(found.standings, found.path)
    written = {overlay.standing.id for overlay in overlays}
    return [each for each in found.standings if each.id in written and is_known(each.table)]
