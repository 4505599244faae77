"""Step addresses, `RUN:STEP:$.path`, and the places in a run that "go to" understands."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from stepwell.core.state import path_text
from stepwell.errors import NotFoundError, UsageError

FAILED, LAST = "@failed", "@last"
Path = tuple[str | int, ...]

_STEP = r"[0-9]{1,18}|[0-9]{1,3}(?:\.[0-9]{1,6})?%|@[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?|@\+[0-9smh]+"
_ADDRESS = re.compile(
    rf"(?P<run>@failed|@last|[0-9a-fA-F][0-9a-fA-F-]*)(?::(?P<step>{_STEP}))?(?::(?P<path>\$.*))?",
    re.DOTALL,
)
_OFFSET = re.compile(r"@\+(?:([0-9]{1,6})h)?(?:([0-9]{1,8})m)?(?:([0-9]{1,9})s?)?")
_PART = re.compile(
    r"""\.(?P<key>[^.\[\]:\s"']+)|\[(?P<index>-?[0-9]{1,9})\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]""", re.DOTALL
)
_SHOWN_KEYS = 6


@dataclass(frozen=True, slots=True)
class Number:
    """A step by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Percent:
    """So much of the run's steps, 0 to 100."""

    percent: float


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day in UTC; without seconds it means the whole minute."""

    hour: int
    minute: int
    second: int | None = None


@dataclass(frozen=True, slots=True)
class Offset:
    """Seconds since the run began."""

    seconds: int


Target = Number | Percent | Clock | Offset


@dataclass(frozen=True, slots=True)
class Address:
    """`run` is a prefix of a run id (hex digits, lower case, no dashes), `FAILED` or `LAST`."""

    run: str
    step: Target | None = None
    path: Path | None = None

    def __str__(self) -> str:
        parts = [self.run]
        if self.step is not None:
            parts.append(target_text(self.step))
        if self.path is not None:
            parts.append(path_text(self.path))
        return ":".join(parts)


def parse_address(text: str) -> Address:
    """`7f3a`, `7f3a:17`, `7f3a:17:$.plan[2]`, `@failed:50%`; raises UsageError."""
    match = _ADDRESS.fullmatch(text.strip())
    run = match["run"].lower() if match else ""
    if not run.startswith("@"):
        run = run.replace("-", "")
    if match is None or len(run) > 32:
        raise UsageError(f"no address: {_brief(text)}; one reads RUN, RUN:17, RUN:50% or RUN:17:$.plan[2]")
    step = parse_target(match["step"]) if match["step"] else None
    return Address(run, step, parse_path(match["path"]) if match["path"] else None)


def parse_target(text: str) -> Target:
    """`17`, `50%`, `@11:42`, `@11:42:07`, `@+90s`, `@+1m30s`; raises UsageError."""
    text = text.strip()
    if re.fullmatch(_STEP, text):
        if text.endswith("%"):
            if (percent := float(text[:-1])) <= 100:
                return Percent(percent)
        elif text.startswith("@+"):
            if (match := _OFFSET.fullmatch(text)) and any(match.groups()):
                hours, minutes, seconds = (int(part or 0) for part in match.groups())
                return Offset(hours * 3600 + minutes * 60 + seconds)
        elif text.startswith("@"):
            parts = [int(part) for part in text[1:].split(":")]
            if parts[0] < 24 and all(part < 60 for part in parts[1:]):
                return Clock(*parts)
        else:
            return Number(int(text))
    raise UsageError(f"no step: {_brief(text)}; a step reads 17, 50%, @11:42 or @+90s")


def parse_goto(text: str) -> Target | Address:
    """What `:` goes to: a place in this run, or an address; raises UsageError."""
    try:
        return parse_target(text)
    except UsageError:
        pass
    try:
        return parse_address(text)
    except UsageError:
        raise UsageError(f"cannot go to {_brief(text)}: try 17, 50%, @11:42, @+90s or RUN:17") from None


def target_text(target: Target) -> str:
    """What `parse_target` reads back."""
    match target:
        case Number(number):
            return str(number)
        case Percent(percent):
            return f"{percent:.6f}".rstrip("0").rstrip(".") + "%"
        case Clock(hour, minute, second):
            return f"@{hour:02}:{minute:02}" + ("" if second is None else f":{second:02}")
        case Offset(seconds):
            return f"@+{seconds}s"


def parse_path(text: str) -> Path:
    """`$.plan[2]`, `$["a b"]`, `$`; negative indexes count from the end. Raises UsageError."""
    parts: list[str | int] = []
    at = 1
    while text.startswith("$") and at < len(text):
        match = _PART.match(text, at)
        if match is None:
            break
        parts.append(_part(match))
        at = match.end()
    if not text.startswith("$") or at < len(text):
        raise UsageError(f'no path: {_brief(text)}; one reads $.plan[2] or $["a b"].x')
    return tuple(parts)


def _part(match: re.Match[str]) -> str | int:
    if match["key"] is not None:
        return match["key"]
    if match["index"] is not None:
        return int(match["index"])
    try:
        return str(json.loads(match["quoted"], strict=False))
    except ValueError:
        raise UsageError(f"no key of a path: {_brief(match['quoted'])}") from None


def resolve_path(value: object, path: Sequence[str | int]) -> object:
    """The part of a JSON value that a path names; NotFoundError says how far it led."""
    for depth, part in enumerate(path):
        try:
            value = _item(value, part)
        except LookupError:
            here = path_text(tuple(path[:depth]))
            wanted = path_text(tuple(path[: depth + 1]))
            raise NotFoundError(f"no {wanted}: {here} is {_kind(value)}") from None
    return value


def _item(value: object, part: str | int) -> object:
    """One step into a JSON value. Raises LookupError."""
    if isinstance(part, str) and isinstance(value, dict):
        return value[part]
    if isinstance(part, int) and isinstance(value, list | tuple):
        return value[part]
    raise KeyError(part)


def _kind(value: object) -> str:
    match value:
        case dict():
            keys = ", ".join(_brief(key) for key in list(value)[:_SHOWN_KEYS])
            more = f", and {len(value) - _SHOWN_KEYS} more" if len(value) > _SHOWN_KEYS else ""
            return f"an object with the keys {keys}{more}" if value else "an empty object"
        case list() | tuple():
            return f"a list of {len(value)}"
        case str():
            return f"a text of {len(value)} characters"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case _:
            return f"a {type(value).__name__}"


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def short_id(run_id: UUID, others: Iterable[UUID] = ()) -> str:
    """The first hex digits of a run id, at least 4, that no other of the given runs begins with."""
    text = run_id.hex
    taken = {other.hex for other in others if other != run_id}
    return next(
        (text[:size] for size in range(4, 32) if not any(o.startswith(text[:size]) for o in taken)), text
    )


def pick_run(prefix: str, candidates: Iterable[UUID]) -> UUID:
    """The one run whose id begins with `prefix`; NotFoundError for none, UsageError for several."""
    wanted = prefix.replace("-", "").lower()
    found = sorted({run_id for run_id in candidates if run_id.hex.startswith(wanted)})
    if not found:
        raise NotFoundError(f"no run {_brief(prefix)}; list them: stepwell runs")
    if len(found) > 1:
        shown = ", ".join(short_id(run_id, found) for run_id in found[:3])
        more = ", ..." if len(found) > 3 else ""
        raise UsageError(f"{prefix} matches {len(found)} runs: {shown}{more}")
    return found[0]
