"""Values that are stored as texts, for display and to be compared."""

from stepwell.core.codec import canonical, encode, hold, parse, view
from stepwell.core.divergence import first_difference
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


def changed(plain: str | None, exact: str | None, now: object) -> tuple[str, object, object] | None:
    """Where a value is not the stored one: see `first_difference`. None where it is, and for what cannot be kept."""
    try:
        if canonical(held(plain, exact)) == canonical(now):
            return None
        return first_difference(viewed(plain, exact), shown(now))
    except EncodingError:
        return None
