"""Stored texts to values for display."""

from stepwell.core import codec


def display(plain: str | None, exact: str | None) -> object:
    """A stored value as JSON-like Python; None for the SQL NULL as well as for JSON null."""
    if plain is None:
        return None
    return codec.view(codec.parse(plain), None if exact is None else codec.parse(exact))
