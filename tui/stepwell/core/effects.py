"""Functions of Postgres that take effect outside of the transaction that calls them, or beyond its end."""

EFFECTS: dict[str, str] = {}


def why_refused(name: str) -> str:
    """Why a function of that name is not called, in one line; empty for one that may be."""
    return EFFECTS.get(name, "")
