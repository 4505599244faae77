"""Columns of a batch as Postgres arrays in binary form: the kinds of `prepared.py` for a list of values each."""

from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Any
from uuid import UUID

from stepwell.store.prepared import EPOCH_MICROSECONDS, ID, INT8, MOMENT, TEXT, Kind

_HEAD = Struct(">IIIII").pack
_LENGTH = Struct(">I").pack
_INT8 = Struct(">Iq").pack
_NULL = b"\xff\xff\xff\xff"
_UUID_LENGTH = _LENGTH(16)


def _text(value: str | None) -> bytes:
    if value is None:
        return _NULL
    data = value.encode()
    return _LENGTH(len(data)) + data


def _int8(value: int | None) -> bytes:
    return _NULL if value is None else _INT8(8, value)


def _moment(microseconds: int | None) -> bytes:
    return _NULL if microseconds is None else _INT8(8, microseconds - EPOCH_MICROSECONDS)


def _uuid(value: UUID) -> bytes:
    return _UUID_LENGTH + value.bytes


def _array(oid: int, element: Kind, dump: Callable[[Any], bytes]) -> Kind:
    def dump_all(values: Sequence[Any]) -> bytes:
        head = _HEAD(1, 1, element[0], len(values), 1)
        return b"".join((head, *map(dump, values)))

    return oid, dump_all


TEXTS = _array(1009, TEXT, _text)
INT8S = _array(1016, INT8, _int8)
MOMENTS = _array(1185, MOMENT, _moment)
IDS = _array(2951, ID, _uuid)

ARRAYS = {TEXT: TEXTS, INT8: INT8S, MOMENT: MOMENTS, ID: IDS}
"""The array of each kind."""


def literal(texts: Iterable[str]) -> str:
    """A text[] as text."""
    escaped = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in escaped) + "}"
