"""Values that are stored as texts, for display and to be compared."""

from dataclasses import replace
from typing import Any

from stepwell.core.codec import Opaque, Redacted, Unavailable, canonical, encode, hold, parse, view
from stepwell.core.codec.decoder import Decoder, keep, show
from stepwell.core.divergence import first_difference
from stepwell.core.world import MISSING
from stepwell.errors import EncodingError


def viewed(plain: str | None, exact: str | None) -> object:
    """A stored value as JSON-like Python; None for nothing."""
    return None if plain is None else view(parse(plain), None if exact is None else parse(exact))


def shown(value: object) -> object:
    """Any value as it will look once it is stored. Raises EncodingError."""
    encoded = encode(value)
    return viewed(encoded.plain, encoded.exact)


def held(plain: str | None, exact: str | None) -> object:
    """A stored value in which every object is a stand-in that encodes to what it did; None for nothing."""
    return None if plain is None else hold(parse(plain), None if exact is None else parse(exact))


def left_out(plain: str | None, exact: str | None) -> object:
    """Like `viewed`, in which what was not to be recorded is a Redacted, and what only has a repr an Opaque."""
    return (
        None
        if plain is None
        else Decoder(None if exact is None else parse(exact), _show).decode(parse(plain))
    )


def _show(base: Any, head: list[Any], arg: Any, decoder: Decoder) -> object:
    return (keep if head[0] in ("redacted", "opaque") else show)(base, head, arg, decoder)


def masked(value: object, pattern: object, *, by_value: bool = False) -> object:
    """A value, as `held` gives it, with what stands in `pattern` for what was left out.

    Numbers that count by value, as JSONB keeps them, are as they are there, and so are objects with a like repr.
    """
    if isinstance(pattern, Redacted):
        return pattern
    if isinstance(value, Opaque) and isinstance(pattern, Opaque):
        return pattern if canonical(value) == canonical(pattern) else value
    if isinstance(value, dict) and isinstance(pattern, dict):
        return {
            key: masked(item, pattern.get(key, MISSING), by_value=by_value) for key, item in value.items()
        }
    if isinstance(value, list) and isinstance(pattern, list):
        beyond = [MISSING] * max(0, len(value) - len(pattern))
        both = zip(value, [*pattern, *beyond], strict=False)
        return [masked(item, of, by_value=by_value) for item, of in both]
    if isinstance(value, Unavailable) and isinstance(pattern, Unavailable):
        return replace(value, fields=masked(value.fields, pattern.fields, by_value=by_value))
    return pattern if by_value and _same_number(value, pattern) else value


def _same_number(value: object, pattern: object) -> bool:
    """Whether JSONB may have made one of the other: `1e2` becomes `100`, and `1e23` more digits than a float has."""
    if {type(value), type(pattern)} != {int, float}:
        return type(value) is float and value == pattern
    assert isinstance(value, int | float)
    assert isinstance(pattern, int | float)
    try:
        return float(value) == float(pattern)
    except OverflowError:
        return False


def changed(
    plain: str | None, exact: str | None, now: object, *, by_value: bool = False
) -> tuple[str, object, object] | None:
    """Where a value is not the stored one: see `first_difference`. None where it is, and for what cannot be kept.

    What was not to be recorded may be anything, and with `by_value` numbers may be spelled otherwise.
    """
    try:
        was, encoded = held(plain, exact), encode(now)
        known = masked(was, was, by_value=by_value)
        of_now = masked(held(encoded.plain, encoded.exact), was, by_value=by_value)
        return (
            None if canonical(known) == canonical(of_now) else first_difference(shown(known), shown(of_now))
        )
    except EncodingError:
        return None
