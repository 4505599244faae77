"""JSON text and the characters and numbers that jsonb cannot hold."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from hashlib import blake2b
from itertools import chain
from typing import Any

from stepwell.errors import EncodingError

_dump = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
_dump_sorted = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"), sort_keys=True
).encode

# Shown in place of a NUL and of the first lone surrogate, unless the text uses them itself.
_NUL_PICTURE = "\u2400"
_REPLACEMENT = "\ufffd"

_UNDER_LOCK = 2047
"""hashlib gives up the interpreter's lock for more; to get it back takes longer than to hash a few kilobytes."""


def dump(value: object, *, sort_keys: bool = False) -> str:
    """Compact JSON text. The value has to be JSON-shaped already."""
    return _dump_sorted(value) if sort_keys else _dump(value)


def parse(text: str | bytes, hook: Callable[[dict[str, Any]], Any] | None = None) -> object:
    """The value of JSON text as jsonb prints it, numbers exact. `hook` makes what stands for an object.

    Integers have any length. A number with a fraction becomes a float when that float's shortest digits say
    the same number, else a Decimal. Raises EncodingError when nested too deeply for the interpreter, and
    ValueError when the text is not JSON.
    """
    try:
        return json.loads(text, parse_float=_exact_float, object_hook=hook)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise EncodingError("the JSON text is nested too deeply to be read") from None
    except ValueError:  # an integer longer than sys.get_int_max_str_digits()
        return json.loads(text, parse_float=_exact_float, parse_int=_long_int, object_hook=hook)


def _exact_float(digits: str) -> float | Decimal:
    number = float(digits)
    if repr(number) == digits or (len(digits) < 17 and "e" not in digits and "E" not in digits):
        return number
    exact = Decimal(digits)
    return number if Decimal(repr(number)) == exact else exact


def _long_int(digits: str) -> int:
    # Decimal is not subject to the limit on converting long texts to int.
    return int(digits) if len(digits) < 600 else int(Decimal(digits))


def clean(text: str) -> bool:
    """Whether jsonb can hold the text: no NUL and no lone surrogate."""
    return "\0" not in text and (text.isascii() or _encodable(text))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def mask(text: str) -> tuple[str, dict[str, int] | None]:
    """The text with each forbidden character replaced by one that the text does not use, and the way back.

    The way back maps each replacement to the code point it stands for. It is None in the one case where the
    text leaves no character to choose: then the first item is the text in hexadecimal UTF-8.
    """
    used = set(text)
    forbidden = sorted(char for char in used if char == "\0" or "\ud800" <= char <= "\udfff")
    spare = (char for char in _replacements(forbidden[0] == "\0") if char not in used)
    chosen = dict(zip(forbidden, spare, strict=False))
    if len(chosen) < len(forbidden):
        return text.encode("utf-8", "surrogatepass").hex(), None
    masked = text.translate({ord(char): ord(other) for char, other in chosen.items()})
    return masked, {other: ord(char) for char, other in chosen.items()}


def _replacements(with_nul: bool) -> Iterator[str]:
    private_use = map(chr, chain(range(0xE000, 0xF900), range(0xF0000, 0xFFFFE), range(0x100000, 0x10FFFE)))
    return chain([_NUL_PICTURE] if with_nul else [], [_REPLACEMENT], private_use)


def unmask(text: str, way_back: dict[str, int] | None) -> str:
    """The text that `mask` was given."""
    if way_back is None:
        return bytes.fromhex(text).decode("utf-8", "surrogatepass")
    return text.translate({ord(other): code for other, code in way_back.items()})


def digest(text: str) -> int:
    """A hash of the text as a signed 64-bit integer, the same in every process."""
    data = text.encode("utf-8", "surrogatepass")
    state = blake2b(digest_size=8)
    for start in range(0, len(data), _UNDER_LOCK):
        state.update(data[start : start + _UNDER_LOCK])
    return int.from_bytes(state.digest(), "big", signed=True)
