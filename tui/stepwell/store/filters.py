"""What the text that a list of runs is filtered by stands for: names of runs, and a range of ids."""

from typing import TypedDict
from uuid import UUID

import psycopg

from stepwell.errors import UsageError
from stepwell.store.queries import query

MOST_NAMES = 5000
"""So many names are looked at one by one, some 40 ms; where there are more, every run's name is."""


class Filter(TypedDict):
    """Parameters of a query for runs: those with one of `names`, a name like `pattern`, or an id of the range."""

    whole: bool
    """Whether every run is wanted."""
    names: list[str] | None
    pattern: str | None
    first: UUID | None
    last: UUID | None


def filter_of(connection: psycopg.Connection, text: str) -> Filter:
    """Runs whose name has `text` in it, in upper or lower case, or whose id begins so; all for an empty text."""
    first, last = ids_of(text)
    found = Filter(whole=not text, names=None, pattern=None, first=first, last=last)
    if text:
        pattern = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        parameters = {"pattern": pattern, "bound": MOST_NAMES}
        row = connection.execute(query("find_names"), parameters, prepare=False).fetchone()
        assert row is not None
        names, all_seen = row
        found["names" if all_seen else "pattern"] = names if all_seen else pattern
    return found


def ids_of(text: str) -> tuple[UUID, UUID] | tuple[None, None]:
    """The first and the last id that begin with `text`, hyphens in their places or left out; else two None."""
    try:
        first, last = id_range(text)
    except UsageError:
        return None, None
    spelled = str(first)[: len(text)] == text.lower() or "-" not in text
    return (first, last) if spelled else (None, None)


def id_range(prefix: str) -> tuple[UUID, UUID]:
    """The first and the last UUID that begin so. Raises UsageError for what cannot begin one."""
    digits = prefix.replace("-", "").lower()
    if not digits or len(digits) > 32 or any(digit not in "0123456789abcdef" for digit in digits):
        raise UsageError(f"{prefix!r} cannot begin a run's id: hexadecimal digits, @failed or @last")
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
