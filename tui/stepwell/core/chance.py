"""The state of Python's `random`, and what `uuid` drew, as JSON."""

import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

VERSION = 3
"""Of what `random.getstate` returns: https://docs.python.org/3/library/random.html#random.getstate"""
WORDS = 624

State = tuple[Any, ...]
"""As `random.getstate` returns it."""


def to_json(state: State) -> dict[str, object] | None:
    """`{"numbers": base64, "index": …, "gauss": …}`; None for a state that is not Mersenne Twister's, version 3."""
    if state[0] != VERSION or len(state[1]) != WORDS + 1 or not isinstance(state[2], float | None):
        return None
    *numbers, index = state[1]
    gauss = None if state[2] is None else state[2].hex()
    return {
        "numbers": b64encode(struct.pack(f"<{WORDS}I", *numbers)).decode("ascii"),
        "index": index,
        "gauss": gauss,
    }


def from_json(made: object) -> State | None:
    """What `to_json` was given; None for what it did not make."""
    if not isinstance(made, Mapping):
        return None
    numbers, index, gauss = made.get("numbers"), made.get("index"), made.get("gauss")
    if not isinstance(numbers, str) or type(index) is not int or not 0 <= index <= WORDS:
        return None
    try:
        words = struct.unpack(f"<{WORDS}I", b64decode(numbers, validate=True))
        return VERSION, (*words, index), None if gauss is None else float.fromhex(gauss)
    except (ValueError, TypeError, OverflowError, struct.error):  # edited by hand
        return None


def drawn_in(made: object) -> tuple[str, ...]:
    """What `uuid` drew, as a JSON list has it; nothing where it is none."""
    return tuple(map(str, made)) if isinstance(made, list) else ()
