"""Types of the standard library that are one value each: numbers, bytes, times, identifiers, paths."""

import pathlib
from base64 import b64decode, b64encode
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from stepwell.core.codec.parts import Make, Nesting, Parts, Rebuilding, Take, UnsupportedError
from stepwell.core.codec.references import find
from stepwell.core.codec.text import clean


def _take_bytes(value: bytes | bytearray, _: Nesting) -> Parts:
    code = "b" if type(value) is bytes else "bytearray"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\0"
    if clean(text):
        return Parts(text, (code,))
    return Parts(b64encode(value).decode(), (code,), "64")


def make_bytes(base: Any, _: list[Any], arg: Any, __: Rebuilding) -> bytes:
    return b64decode(base) if arg else base.encode()


def _make_bytearray(base: Any, head: list[Any], arg: Any, context: Rebuilding) -> bytearray:
    return bytearray(make_bytes(base, head, arg, context))


def _take_decimal(value: Decimal, _: Nesting) -> Parts:
    text = str(value)
    if value.is_finite():
        number = float(value)
        if abs(number) < 1e16 and Decimal(repr(number)) == value:
            return Parts(abs(number) if number == 0 else number, ("decimal",), text)
    return Parts(text, ("decimal",))


def _make_decimal(base: Any, _: list[Any], arg: Any, __: Rebuilding) -> Decimal:
    return Decimal(base if arg is None else arg)


def _take_moment(value: datetime | time, _: Nesting) -> Parts:
    """`arg` holds what iso text lacks: `z` a zone's key, `n` a fixed offset's name, `p` pydantic's class."""
    arg: dict[str, object] = {"fold": 1} if value.fold else {}
    zone = value.tzinfo
    if type(zone) is ZoneInfo and zone.key:
        arg["z"] = zone.key
    elif type(zone) is timezone:
        if (name := zone.tzname(None)) != timezone(zone.utcoffset(None)).tzname(None):
            arg["n"] = name
            if not clean(name):
                raise UnsupportedError("the time zone's name cannot be stored")
    elif type(zone).__name__ == "TzInfo" and type(zone).__module__.startswith("pydantic_core"):
        arg["p"] = 1
    elif zone is not None:
        raise UnsupportedError(f"time zone of type {type(zone).__name__}")
    return Parts(value.isoformat(), ("datetime" if type(value) is datetime else "time",), arg or None)


def _make_datetime(base: Any, _: list[Any], arg: Any, __: Rebuilding) -> datetime:
    value = datetime.fromisoformat(base)
    return (
        value.replace(tzinfo=_zone(value.tzinfo, value.utcoffset(), arg), fold=arg.get("fold", 0))
        if arg
        else value
    )


def _make_time(base: Any, _: list[Any], arg: Any, __: Rebuilding) -> time:
    value = time.fromisoformat(base)
    return (
        value.replace(tzinfo=_zone(value.tzinfo, value.utcoffset(), arg), fold=arg.get("fold", 0))
        if arg
        else value
    )


def _zone(parsed: tzinfo | None, offset: timedelta | None, arg: dict[str, Any]) -> tzinfo | None:
    if "z" in arg:
        return ZoneInfo(arg["z"])
    if offset is not None and "n" in arg:
        return timezone(offset, arg["n"])
    if offset is not None and "p" in arg:
        zone: tzinfo = find("pydantic_core:TzInfo")(offset.total_seconds())
        return zone
    return parsed


def _take_timedelta(value: timedelta, _: Nesting) -> Parts:
    return Parts(value.total_seconds(), ("timedelta",), [value.days, value.seconds, value.microseconds])


def _make_timedelta(_: Any, __: list[Any], arg: Any, ___: Rebuilding) -> timedelta:
    return timedelta(*arg)


_PATHS = {
    kind.__name__: kind
    for kind in (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
}

TAKE: dict[type, Take] = {
    bytes: _take_bytes,
    bytearray: _take_bytes,
    Decimal: _take_decimal,
    datetime: _take_moment,
    time: _take_moment,
    date: lambda value, _: Parts(value.isoformat(), ("date",)),
    timedelta: _take_timedelta,
    UUID: lambda value, _: Parts(str(value), ("uuid",)),
    **dict.fromkeys(_PATHS.values(), lambda value, _: Parts(str(value), ("path", type(value).__name__))),
}

MAKE: dict[str, Make] = {
    "b": make_bytes,
    "bytearray": _make_bytearray,
    "decimal": _make_decimal,
    "datetime": _make_datetime,
    "time": _make_time,
    "date": lambda base, *_: date.fromisoformat(base),
    "timedelta": _make_timedelta,
    "uuid": lambda base, *_: UUID(base),
    "path": lambda base, head, *_: _PATHS[head[0]](base),
}
