"""Values as comma-separated text, as RFC 4180 has it."""

import re
from collections.abc import Iterable

_SEPARATED = re.compile(r'[",\r\n]')


def csv_line(values: Iterable[str | None]) -> str:
    """One line, without its end. NULL is an empty field, an empty text one in quotes: `csv` cannot tell the two."""
    return ",".join("" if value is None else _field(value) for value in values)


def _field(value: str) -> str:
    if value and not _SEPARATED.search(value):
        return value
    return '"' + value.replace('"', '""') + '"'
