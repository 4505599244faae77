"""Up to which size a payload is read: some are hundreds of megabytes."""

from typing import NamedTuple


class Limits(NamedTuple):
    """In bytes."""

    most: int
    """As it is stored, compressed: that costs nothing to ask."""
    surely: int
    """As it is stored, and so little that it need not be unpacked to be known as short enough."""
    longest: int
    """Unpacked: what compresses a hundredfold is long all the same."""


MOVES = Limits(4_000_000, 100_000, 16_000_000)
"""On a move, for the step itself."""
BESIDE = Limits(1_000_000, 40_000, 4_000_000)
"""For what is only looked through, beside a step: what is longer would not be."""
EVERYTHING = Limits(2**31 - 1, 2**31 - 1, 2**31 - 1)
"""JSONB holds less."""
