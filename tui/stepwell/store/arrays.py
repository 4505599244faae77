"""Columns of a batch as Postgres arrays in binary form.

psycopg adapts lists too, but looks into every element to guess a type, escapes long texts in Python, and prepares a
statement anew for each guess. Here the type is the class, so that one prepared statement serves every batch.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

from stepwell.store.prepared import EPOCH_MICROSECONDS

_HEAD = Struct(">IIIII").pack
_LENGTH = Struct(">I").pack
_INT8 = Struct(">Iq").pack
_NULL = b"\xff\xff\xff\xff"
_UUID_LENGTH = _LENGTH(16)


class Array:
    """The binary form of one column; its class is the type of the elements."""

    __slots__ = ("data",)
    element_oid = 0

    def __init__(self, elements: Sequence[bytes]) -> None:
        """`elements` have their length in front, or are the NULL."""
        head = _HEAD(1, 1, self.element_oid, len(elements), 1)
        self.data = b"".join((head, *elements))


class TextArray(Array):
    """`text[]`. A lone surrogate, which UTF-8 cannot hold, raises UnicodeEncodeError."""

    __slots__ = ()
    element_oid = 25

    def __init__(self, values: Sequence[str | None]) -> None:
        super().__init__([_NULL if value is None else _text(value) for value in values])


class IntArray(Array):
    """`int8[]`."""

    __slots__ = ()
    element_oid = 20

    def __init__(self, values: Sequence[int | None]) -> None:
        super().__init__([_NULL if value is None else _INT8(8, value) for value in values])


class TimeArray(Array):
    """`timestamptz[]`, of microseconds since 1970."""

    __slots__ = ()
    element_oid = 1184

    def __init__(self, values: Sequence[int | None]) -> None:
        super().__init__(
            [_NULL if value is None else _INT8(8, value - EPOCH_MICROSECONDS) for value in values]
        )


class UuidArray(Array):
    """`uuid[]`."""

    __slots__ = ()
    element_oid = 2950

    def __init__(self, values: Sequence[UUID]) -> None:
        super().__init__([_UUID_LENGTH + value.bytes for value in values])


def _text(value: str) -> bytes:
    data = value.encode()
    return _LENGTH(len(data)) + data


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Array) -> Buffer:
        return obj.data


class _TextArrayDumper(_ArrayDumper):
    oid = 1009


class _IntArrayDumper(_ArrayDumper):
    oid = 1016


class _TimeArrayDumper(_ArrayDumper):
    oid = 1185


class _UuidArrayDumper(_ArrayDumper):
    oid = 2951


def register(connection: Connection[Any]) -> None:
    """Have `connection` take these arrays as parameters."""
    adapters = connection.adapters
    adapters.register_dumper(TextArray, _TextArrayDumper)
    adapters.register_dumper(IntArray, _IntArrayDumper)
    adapters.register_dumper(TimeArray, _TimeArrayDumper)
    adapters.register_dumper(UuidArray, _UuidArrayDumper)
