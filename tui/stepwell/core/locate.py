"""Where in a run "go to" lands, and the words for why."""

from datetime import datetime, timedelta
from math import ceil

from stepwell.core.address import Clock, Number, Offset, Percent, Target, target_text
from stepwell.core.heads import microseconds, moment
from stepwell.core.outline import Outline, utc
from stepwell.core.steps import RunHead

NO_STEPS = "the run has no steps"
_DAY = timedelta(days=1)


def locate(run: RunHead, outline: Outline, target: Target) -> tuple[int | None, str | None]:
    """The index of a step, None where there is nothing, and a message where that is not just what was asked.

    A time means the first step that began then or later.
    """
    if not outline.steps:
        return None, f"step {target.number}: {NO_STEPS}" if isinstance(target, Number) else NO_STEPS
    match target:
        case Number(number):
            return _by_number(outline, number)
        case Percent(percent):
            return max(ceil(len(outline.steps) * percent / 100), 1) - 1, None
        case Clock() | Offset():
            return _by_time(run, outline, target)


def _by_number(outline: Outline, number: int) -> tuple[int | None, str | None]:
    index = outline.index_of(number)
    if index is not None:
        return index, None
    first, last = outline.span
    if not first <= number <= last:
        return None, f"step {number}: the run has {first}-{last}"
    nearest = outline.nearest(number)
    return nearest, f"step {number} is not there, the nearest is {outline.steps.numbers[nearest]}"


def _by_time(run: RunHead, outline: Outline, target: Clock | Offset) -> tuple[int | None, str | None]:
    times = outline.times
    first, last = (moment(times.values[at]) if times.values else None for at in (0, -1))
    if first is None or last is None:
        return None, f"{target_text(target)}: no step has a time"
    begin = min(utc(run.started), first) if run.started else first
    wanted = begin + timedelta(seconds=target.seconds) if isinstance(target, Offset) else _on(begin, target)
    at = times.before(microseconds(wanted))
    if at < len(times.values):
        return times.indexes[at], None
    if isinstance(target, Offset):
        took = (last - begin).total_seconds()
        return None, f"{target_text(target)}: the last step began at @+{int(took)}s"
    return None, f"{target_text(target)}: steps began {first:%H:%M:%S}-{last:%H:%M:%S} UTC"


def _on(begin: datetime, clock: Clock) -> datetime:
    """The first time since the run began at which the clock showed this."""
    wanted = begin.replace(hour=clock.hour, minute=clock.minute, second=clock.second or 0, microsecond=0)
    precision = timedelta(minutes=1) if clock.second is None else timedelta(seconds=1)
    return wanted if wanted + precision > begin else wanted + _DAY
