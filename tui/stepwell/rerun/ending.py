"""How an agent ended in a replay, beside how it ended then."""

from __future__ import annotations

import re
from dataclasses import replace

from stepwell.core.codec.foreign import said
from stepwell.core.divergence import Divergence, Kind
from stepwell.core.hints import by_the_clock, hinted
from stepwell.core.identity import is_left_out
from stepwell.core.recorded import RecordedRun
from stepwell.core.rerun import Report
from stepwell.core.shown import changed
from stepwell.core.world import MISSING
from stepwell.recorder.failures import is_failure, type_of
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.places import Places, libraries
from stepwell.rerun.stops import Diverged, Reached, Refused
from stepwell.rerun.surroundings import why

WELL = "an end without an error"
_WHERE = re.compile(r"\nLINE \d+: .*\n *\^ *(?=\n|$)")
"""Where in its text a statement is wrong, as Postgres points it out in lines of their own."""


def compare(
    dialogue: Dialogue,
    result: object,
    error: BaseException | None,
    *,
    said: object = MISSING,
    timed: bool = False,
) -> None:
    """See that the agent ended as it did then: with that result, or that error, and with nothing left to ask for.

    `said` is what it has ended the run with by itself, if it has: then that counts as its end. `timed` says that the
    last that it did was to look at the clock.
    """
    recorded = dialogue.run
    left = dialogue.left()
    if left is not None and timed:
        left = by_the_clock(left, recorded)
    ended = said if isinstance(said, BaseException) or said is None else error
    ended = ended if is_failure(ended) else None
    found = (
        _raised(left, error)
        if left is not None and error is not None
        else left or _other_end(recorded, ended)
    )
    if found is None and ended is None and recorded.result is not None:
        found = _other_result(recorded, result)
    if found is not None:
        dialogue.end(Diverged(hinted(found, recorded)))
    if (
        ended is not None
        and error is not None
        and left is None
        and (found is not None or not recorded.complete)
    ):
        dialogue.note(f"the agent ended with {words(error)}{at(error)}")


def _raised(left: Divergence, error: BaseException) -> Divergence:
    """That an error has kept it from asking for what is left."""
    place = Places(libraries()).of_error(error)
    where = None if place is None else str(place)
    hint = why(error) or left.hint
    return replace(left, kind=Kind.RAISED, actual=words(error), where=where, others=(), hint=hint)


def words(error: BaseException) -> str:
    """An error in a line: `ValueError: no such order`."""
    return " ".join(f"{type_of(error)}: {_WHERE.sub('', said(error, str))}".removesuffix(": ").split())


def at(error: BaseException) -> str:
    """Where in the agent's code it was raised."""
    place = Places(libraries()).of_error(error)
    return "" if place is None else f" at {place}"


def _other_end(recorded: RecordedRun, error: BaseException | None) -> Divergence | None:
    if not recorded.complete:
        return None
    expected = recorded.head.error
    actual = None if error is None else f"{type_of(error)}: {error}".removesuffix(": ")
    if recorded.head.status == "ok" and actual is None:
        return None
    if expected is not None and actual is not None and _same_error(recorded, expected, actual):
        return None
    hint = None if error is None else why(error)
    return Divergence(Kind.RESULT, None, "$", expected or WELL, actual or WELL, hint=hint)


def _same_error(recorded: RecordedRun, expected: str, actual: str) -> bool:
    """Whether they say the same; where something was not to be recorded, that may be in what it says."""
    if expected == actual or expected.partition(": ")[0] != actual.partition(": ")[0]:
        return expected == actual
    payloads = (step.payload for step in recorded.steps)
    return any(is_left_out(each.input_exact, each.output_exact, each.error) for each in payloads)


def _other_result(recorded: RecordedRun, result: object) -> Divergence | None:
    difference = changed(recorded.result, recorded.result_exact, result)
    return None if difference is None else Divergence(Kind.RESULT, None, *difference)


def report_of(dialogue: Dialogue, result: object = MISSING) -> Report:
    """What has come of it. `result` counts where nothing ended the replay before the agent did."""
    stop = dialogue.stop
    return Report(
        len(dialogue.asked),
        dialogue.last,
        dialogue.places.get(dialogue.last or 0),
        stop.divergence if isinstance(stop, Diverged) else None,
        str(stop) if isinstance(stop, Reached) else None,
        str(stop) if isinstance(stop, Refused) else None,
        result if stop is None else MISSING,
        tuple(dialogue.notes),
    )
