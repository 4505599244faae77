"""How a value of a non-JSON type is taken apart, and what its parts are called."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

Head = tuple[Any, ...]
"""A code such as `t` for tuple, then what many values share (their class). Hashable."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A value as `base`, a simpler value to go into the plain JSON, with what turns the base back into it.

    `arg` is specific to this one value: JSON-shaped, and of strings, lists and integers only. `opaque` says
    that the value cannot be rebuilt by import.
    """

    base: object
    head: Head
    arg: object = None
    opaque: bool = False


class Nesting(Protocol):
    """Encodes a value that has no place in the plain JSON, such as a model's private attributes."""

    canonical: bool

    def nested(self, value: object) -> list[str | None]:
        """The value as texts for `Parts.arg`."""

    def names(self, names: Iterable[str]) -> tuple[str | None, ...]:
        """Names for a `Head`, in sorted order."""


class Rebuilding(Protocol):
    """Decodes what `Nesting` encoded."""

    def nested(self, texts: list[str | None]) -> Any:
        """The value given to `Nesting.nested`."""

    def names(self, names: list[str | None]) -> list[str]:
        """The names given to `Nesting.names`."""


class UnsupportedError(Exception):
    """Raised by a `Take` for an object that it cannot keep; the object becomes opaque."""


Take = Callable[[Any, Nesting], Parts]
"""Takes a value apart."""

Make = Callable[[Any, list[Any], Any, Rebuilding], object]
"""Makes the value again: from the base, the head without its code, and the argument."""
