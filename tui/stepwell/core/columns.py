"""Columns of many values in little memory: whole numbers in arrays, texts as codes of a dictionary."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import eq

Piece = tuple[int, int, int]
"""Of several columns the number of one, and from where to where."""
_KNOWN, _UNKNOWN = b"\1", b"\0"
_SMALL, _MEDIUM = 1 << 8, 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Ints:
    """Whole numbers of 64 bits, or None. `values` is None where no number is known.

    `known` has a byte a number, 1 where it is known; it is None where all of them are, or `values` is None.
    """

    size: int
    values: "array[int] | None" = None
    known: bytes | None = None

    @classmethod
    def of(cls, numbers: Iterable[int | None]) -> "Ints":
        """Raises OverflowError for a number that needs more than 64 bits."""
        found = list(numbers)
        return cls.placed(array("q", [number for number in found if number is not None]),
                          bytes([number is not None for number in found]))  # fmt: skip

    @classmethod
    def placed(cls, values: "array[int]", known: bytes) -> "Ints":
        """The known numbers alone, and where they stand."""
        if not values:
            return cls(len(known))
        if len(values) == len(known):
            return cls(len(known), values)
        rest = iter(values)
        return cls(len(known), array("q", [next(rest) if here else 0 for here in known]), known)

    def __getitem__(self, index: int) -> int | None:
        if self.values is None or (self.known is not None and not self.known[index]):
            return None
        return self.values[index]

    @property
    def mask(self) -> bytes:
        """A byte a number, 1 where it is known."""
        if self.known is not None:
            return self.known
        return (_UNKNOWN if self.values is None else _KNOWN) * self.size

    def where(self, number: int) -> "array[int]":
        """The indexes at which the number stands."""
        if self.values is None:
            return array("i")
        found = array("i", compress(range(self.size), map(number.__eq__, self.values)))
        return array("i", compress(found, map(self.mask.__getitem__, found)))

    @staticmethod
    def joined(columns: Sequence["Ints"], pieces: Sequence[Piece]) -> "Ints":
        """The pieces of these columns, one after the other."""
        size = sum(stop - start for _, start, stop in pieces)
        if all(column.values is None for column in columns):
            return Ints(size)
        values = array("q")
        for which, start, stop in pieces:
            source = columns[which].values
            values.frombytes(
                bytes(8 * (stop - start))
                if source is None
                else memoryview(source).cast("B")[8 * start : 8 * stop]
            )
        if all(column.known is None and column.values is not None for column in columns if column.size):
            return Ints(size, values)
        masks = [column.mask for column in columns]
        known = b"".join([masks[which][start:stop] for which, start, stop in pieces])
        return Ints(size, values, known if _UNKNOWN in known else None)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts, or None: for each the place of its text in `words`, whose first is None.

    `codes` are bytes as long as there are few different texts.
    """

    codes: "bytes | array[int]"
    words: tuple[str | None, ...] = (None,)

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> "Texts":
        found = list(texts)
        words = dict.fromkeys([None, *found])
        places = {word: place for place, word in enumerate(words)}
        return cls(_codes(map(places.__getitem__, found), len(words)), tuple(words))

    @classmethod
    def placed(cls, texts: Sequence[bytes], known: bytes) -> "Texts":
        """The known texts alone, in UTF-8, and where they stand."""
        places = {word: place for place, word in enumerate(dict.fromkeys(texts), 1)}
        words = (None, *(word.decode() for word in places))
        if not texts:
            return cls(bytes(len(known)))
        codes = map(places.__getitem__, texts)
        if len(texts) == len(known):
            return cls(_codes(codes, len(words)), words)
        return cls(_codes([next(codes) if here else 0 for here in known], len(words)), words)

    def __getitem__(self, index: int) -> str | None:
        return self.words[self.codes[index]]

    @property
    def mask(self) -> bytes:
        """A byte a text, 1 where it is known."""
        if isinstance(self.codes, bytes):
            return self.codes.translate(_PRESENT)
        return bytes(map(bool, self.codes))

    def is_(self, word: str | None) -> bytes:
        """A byte a text, 1 where it is this one."""
        place = self.words.index(word) if word in self.words else None
        if place is None:
            return bytes(len(self.codes))
        if isinstance(self.codes, bytes):
            return self.codes.translate(bytes([code == place for code in range(_SMALL)]))
        return bytes(map(place.__eq__, self.codes))

    def distinct(self) -> list[str | None]:
        """The texts that there are, in the order in which they appear first."""
        return [self.words[code] for code in dict.fromkeys(self.codes)]

    @staticmethod
    def joined(columns: Sequence["Texts"], pieces: Sequence[Piece]) -> "Texts":
        """The pieces of these columns, one after the other."""
        words = tuple(dict.fromkeys(word for column in columns for word in column.words))
        places = {word: place for place, word in enumerate(words)}
        coded = [_recoded(column, places) for column in columns]
        if len(words) <= _SMALL:
            return Texts(b"".join([bytes(coded[which][start:stop]) for which, start, stop in pieces]), words)
        codes = array(_letter(len(words)))
        for which, start, stop in pieces:
            codes.extend(coded[which][start:stop])
        return Texts(codes, words)


_PRESENT = bytes([code > 0 for code in range(_SMALL)])


def _letter(words: int) -> str:
    return "H" if words <= _MEDIUM else "I"


def _codes(codes: Iterable[int], words: int) -> "bytes | array[int]":
    return bytes(codes) if words <= _SMALL else array(_letter(words), codes)


def _recoded(column: Texts, places: dict[str | None, int]) -> "bytes | array[int]":
    """The codes of a column in a dictionary that has all of its words."""
    codes, moved = column.codes, [places[word] for word in column.words]
    same = all(map(eq, moved, range(len(moved))))
    if isinstance(codes, bytes):
        if len(places) <= _SMALL:
            return codes if same else codes.translate(bytes(moved).ljust(_SMALL, b"\0"))
    elif same and codes.typecode == _letter(len(places)):
        return codes
    return _codes(map(moved.__getitem__, codes), len(places))


def either(*masks: bytes) -> bytes:
    """1 where one of the masks is, all of a length."""
    found = 0
    for mask in masks:
        found |= int.from_bytes(mask, "little")
    return found.to_bytes(len(masks[0]), "little")


def both(*masks: bytes) -> bytes:
    """1 where all of the masks are, all of a length."""
    found = int.from_bytes(masks[0], "little")
    for mask in masks[1:]:
        found &= int.from_bytes(mask, "little")
    return found.to_bytes(len(masks[0]), "little")


_OPPOSITE = bytes([code == 0 for code in range(_SMALL)])


def neither(*masks: bytes) -> bytes:
    """1 where none of the masks is."""
    return either(*masks).translate(_OPPOSITE)


def positions(mask: bytes) -> "array[int]":
    """Where a mask is not 0."""
    return array("i", compress(range(len(mask)), mask))


_ALL = bytes([0, *[255] * (_SMALL - 1)])


def overlaid(below: bytes, mask: bytes, above: bytes) -> bytes:
    """`above` where the mask is not 0, `below` elsewhere; all of a length."""
    chosen = int.from_bytes(mask.translate(_ALL), "little")
    low, high = int.from_bytes(below, "little"), int.from_bytes(above, "little")
    return (low ^ ((low ^ high) & chosen)).to_bytes(len(mask), "little")
