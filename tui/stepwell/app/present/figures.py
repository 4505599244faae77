"""Durations, ages, sizes, counts and clock times in few cells."""

from datetime import UTC, datetime, timedelta

_UNITS = ("KB", "MB", "GB", "TB")


def duration(value: timedelta | None) -> str:
    """`.04`, `1.8`, `22s`, `1m31`, `4m02`, `2h05`, `3d04`; empty where it is not known.

    Negative ones happen where clocks of two machines differ, and are shown as such.
    """
    if value is None:
        return ""
    seconds = value.total_seconds()
    return "-" + _duration(-seconds) if seconds < 0 else _duration(seconds)


def _duration(seconds: float) -> str:
    if round(seconds, 2) < 1:
        return f"{seconds:.2f}"[1:]
    if round(seconds, 1) < 10:
        return f"{seconds:.1f}"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}"
    return f"{whole // 86400}d{whole % 86400 // 3600:02}"


def age(then: datetime | None, now: datetime) -> str:
    """How long ago: `now`, `3 min`, `1 h`, `2 d`. What lies ahead of a skewed clock is `now`."""
    if then is None:
        return ""
    minutes = int((_utc(now) - _utc(then)).total_seconds() // 60)
    if minutes < 1:
        return "now"
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} d"


def size(number: int) -> str:
    """Bytes or characters in powers of 1,000: `812 B`, `12.4 KB`."""
    if number < 1000:
        return f"{number} B"
    scaled = float(number)
    for unit in _UNITS:
        scaled /= 1000
        if round(scaled, 1) < 1000 or unit == _UNITS[-1]:
            break
    return f"{scaled:.1f} {unit}"


def count(number: int) -> str:
    """`1,204,331`"""
    return f"{number:,}"


def clock(value: datetime | None) -> str:
    """`11:42:07Z`, in UTC; a time without a zone is taken for UTC."""
    return "" if value is None else f"{_utc(value):%H:%M:%S}Z"


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
