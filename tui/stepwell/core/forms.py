"""How a call hands out its answer, where that is not the value itself: `stream openai:Stream`."""

from stepwell.core.codec.references import reference

STREAM, ASYNC_STREAM = "stream", "async_stream"
"""Piece by piece."""
MANAGER, ASYNC_MANAGER = "manager", "async_manager"
"""Piece by piece within a `with` block."""
AWAITABLE = "awaitable"
"""A plain function returns something to be awaited."""


def form(how: str, answer: object) -> str:
    """With the class of what is handed out."""
    named, _ = reference(type(answer))
    while not isinstance(named, str):  # a generic: its origin
        named = named[0]
    return f"{how} {named}"


def parts(text: str | None) -> tuple[str, str]:
    """How, and the class; a stream of a class that is not known for what says nothing."""
    how, _, kind = (text or STREAM).partition(" ")
    return how, kind
