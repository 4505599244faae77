"""What is to be said of a difference: a time of now, something drawn by chance, an order, and types that look alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from stepwell.core.codec import Unavailable, parse
from stepwell.core.codec.references import type_name
from stepwell.core.divergence import Divergence, Kind, alike
from stepwell.core.recorded import RecordedRun
from stepwell.core.state import Path, path_text
from stepwell.core.world import MISSING

TIME = 'if that is the time of now, it has to be a step: run.value("now", …)'
DEADLINE = 'if a deadline ended that, the time that it is counted from has to be a step: run.value("now", …)'
CHANCE = 'if that is drawn by chance, it has to be a step: run.value("id", …)'
ORDER = "if that is the order of a set, or of rows without ORDER BY, it has to be sorted: it is another one each time"
PROCESS = "if that is an id(), a hash() or an address in memory, it is another one in each process"

_TYPES = {"t": "tuple", "b": "bytes"}
"""Names of types for people, where the codec has others."""
_KINDS = (Kind.INPUT, Kind.STATE, Kind.OUTCOME, Kind.RESULT)
WORK = timedelta(milliseconds=50)
"""So much time between two steps, which a replay does not know of, may make a deadline another one."""
_YEAR = 366 * 86_400
_UNITS = (1, 10**3, 10**6, 10**9)
"""How many of what a number may count are in a second."""
_LONGEST = 80
"""Characters before a difference in which what differs may begin."""

_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
_WEEKDAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = (
    r"(?:\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|\d\d\.\d\d\.\d\d|\d{1,2}\.\d{1,2}\.\d{4}"
    r"|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
    rf"|{_MONTH} +\d{{1,2}}(?:st|nd|rd|th)?(?:,? +\d{{4}})?|\d{{1,2}}\.? {_MONTH},?(?: \d{{4}})?)"
)
_TIME = re.compile(
    rf"(?<![\w.])(?:(?:{_WEEKDAY},? +)?{_DAY}(?:(?:,? +(?:at )?|[T_-])(?:{_CLOCK}|\d{{6}}Z?)(?: \d{{4}})?)?"
    rf"|{_CLOCK}|{_WEEKDAY})(?!\w|\.\d)"
)
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?<![\w.])\d{10,19}(?:\.\d+)?(?![\w.])")
_CHANCE = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
    r"|(?=\d*[A-Fa-f])(?=[A-Fa-f]*\d)[0-9A-Fa-f]{12,})(?![0-9A-Za-z])"
)
_OF_PROCESS = re.compile(r"(?<![\w.])(?:0x[0-9A-Fa-f]{6,16}|-?\d{15,19})(?![\w.])")


def hinted(found: Divergence, run: RecordedRun) -> Divergence:
    """The same with a hint, where both sides look like what is another one each time."""
    if found.hint is not None or found.kind not in _KINDS:
        return found
    hint = _hint(found.expected, found.actual, run.began)
    return replace(found, hint=ORDER if hint is None and _is_reordered(*_sides(found)) else hint)


def of_here(found: Divergence, here: Mapping[str, str]) -> Divergence:
    """The same with a hint, where what it is now is what is found around the process: `here`, with the words for it."""
    sides = found.expected, found.actual
    if found.hint is not None or found.kind not in _KINDS or not all(isinstance(x, str | int) for x in sides):
        return found
    expected, actual = map(str, sides)
    at = alike(expected, actual)
    for text, words in here.items():
        pattern = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
        if any(match.start() <= at < match.end() for match in pattern.finditer(actual)):
            return replace(found, hint=f'if that is {words}, it has to be a step: run.value("here", …)')
    return found


def by_the_clock(left: Divergence, run: RecordedRun) -> Divergence:
    """The same of what was never asked for, where the agent read the clock before it ended."""
    if left.hint is None and left.kind is Kind.NEVER_ASKED and _had_work(run, left.step):
        return replace(left, hint=DEADLINE)
    return left


def _had_work(run: RecordedRun, upto: int | None) -> bool:
    """Whether the agent was at work by itself for long, between two steps of a thread or task up to that one."""
    ended: dict[int | None, datetime | None] = {}
    for step in run.steps:
        before = ended.get(step.lane, run.head.started)
        if step.started is not None and before is not None and step.started - before > WORK:
            return True
        if step.number == upto:
            return False
        ended[step.lane] = step.finished
    return False


def _hint(expected: object, actual: object, began: datetime | None) -> str | None:
    if isinstance(expected, str) and isinstance(actual, str):
        if _both(_CHANCE, expected, actual):
            return CHANCE
        numbers = _both(_NUMBER, expected, actual) or ()
        is_now = [_is_time(float(number), began) for number in numbers] == [True, True]
        if is_now or _both(_TIME, expected, actual):
            return TIME
        return PROCESS if _both(_OF_PROCESS, expected, actual) else None
    if _is_time(expected, began) and _is_time(actual, began):
        return TIME
    is_number = type(expected) is int and type(actual) is int
    return PROCESS if is_number and _both(_OF_PROCESS, str(expected), str(actual)) else None


def _sides(found: Divergence) -> tuple[object, object]:
    """The whole inputs, where both are known."""
    if found.recorded is None or found.asked is None:
        return found.expected, found.actual
    return found.recorded.value, found.asked.value


def _is_reordered(old: object, new: object) -> bool:
    """Whether the first list or text in which two values differ holds the same items or words, in another order."""
    if isinstance(old, str) and isinstance(new, str):
        then, now = _WORD.findall(old), _WORD.findall(new)
        return then != now and Counter(then) == Counter(now)
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = [(item, new.get(key, MISSING)) for key, item in old.items()]
    elif isinstance(old, list) and isinstance(new, list):
        if Counter(map(repr, old)) == Counter(map(repr, new)):
            return old != new
        pairs = list(zip(old, new, strict=False))
    else:
        return False
    return next((_is_reordered(then, now) for then, now in pairs if repr(then) != repr(now)), False)


def _both(pattern: re.Pattern[str], one: str, other: str) -> tuple[str, str] | None:
    """What of two texts is of the pattern, where they differ first."""
    at = alike(one, other)
    start = max(0, at - _LONGEST)
    found = [_around(pattern, text[start : at + _LONGEST], at - start) for text in (one, other)]
    then, now = found
    if then is None or now is None or then.start() != now.start():
        return None
    return (then.group(), now.group()) if then.group() != now.group() else None


def _around(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    return next((found for found in pattern.finditer(text) if found.start() <= at <= found.end()), None)


def _is_time(value: object, began: datetime | None) -> bool:
    """Whether a number may be a time, counted since 1970, within a year of that one."""
    if began is None or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if not 0 < value < 10**20:
        return False
    return any(abs(value - began.timestamp() * unit) < _YEAR * unit for unit in _UNITS)


def unlike(recorded: object, actual: object, path: Path = ()) -> str | None:
    """Where two values that look alike are of other types, in words; both as `core.shown.held` has them."""
    if isinstance(recorded, Unavailable) and isinstance(actual, Unavailable) and recorded.type == actual.type:
        return unlike(recorded.fields, actual.fields, path) or _of_types(path, recorded, actual)
    inside: list[tuple[object, object, str | int]] = []
    if isinstance(recorded, dict) and isinstance(actual, dict):
        inside = [(item, actual.get(key, MISSING), str(key)) for key, item in recorded.items()]
    elif isinstance(recorded, list) and isinstance(actual, list):
        inside = [(*both, index) for index, both in enumerate(zip(recorded, actual, strict=False))]
    else:
        return _of_types(path, recorded, actual)
    return next((said for old, new, at in inside if (said := unlike(old, new, (*path, at)))), None)


def _of_types(path: Path, *sides: object) -> str | None:
    if MISSING in sides:
        return f"they look alike, but the keys of {path_text(path[:-1])} are of other types"
    then, now = map(_type, sides)
    if then != now:
        return f"they look alike, but {path_text(path)} was of type {then} and is of type {now}"
    tags = [side.tag for side in sides if isinstance(side, Unavailable)]
    if len(set(tags)) < 2:
        return None
    old, new = map(_class, tags)
    more = f"was a {old} and is a {new}" if old and new and old != new else f"is another {then}"
    return f"they look alike, but {path_text(path)} {more}"


def _class(tag: str) -> str | None:
    """What class a value is of, where its tag says that."""
    read: Any = parse(tag)
    _, *more = read[0]
    reference = more[0] if more else ""
    first = reference if isinstance(reference, str) else reference[0]
    return type_name(reference) if ":" in first else None


def _type(value: object) -> str:
    return _TYPES.get(value.type, value.type) if isinstance(value, Unavailable) else type(value).__name__
