"""Stored texts to values for display."""

from collections.abc import Sequence

from stepwell.core import codec
from stepwell.errors import EncodingError


def display(plain: str | None, exact: str | None) -> object:
    """A stored value as JSON-like Python; None for the SQL NULL as well as for JSON null."""
    if plain is None:
        return None
    return codec.view(codec.parse(plain), None if exact is None else codec.parse(exact))


def recorded(plain: str | None, exact: str | None) -> object:
    """A stored value for display; one that cannot be read (nested too deeply) is its JSON text."""
    try:
        return display(plain, exact)
    except EncodingError:
        return plain


def display_all(stored: Sequence[tuple[str, str | None]]) -> list[object]:
    """`display` of many, none of them NULL. Parsed as one text: most are short, and a call each is most of the cost."""
    try:
        values = codec.parse(f"[{','.join([plain for plain, _ in stored])}]")
    except EncodingError:
        return [display(plain, exact) for plain, exact in stored]
    assert isinstance(values, list)
    return [
        value if exact is None else codec.view(value, codec.parse(exact))
        for value, (_, exact) in zip(values, stored, strict=True)
    ]
