"""How a call hands out its answer, where that is not the value itself: `stream openai:Stream`."""

from stepwell.core.codec.references import reference

STREAM, ASYNC_STREAM = "stream", "async_stream"
"""Piece by piece."""
MANAGER, ASYNC_MANAGER = "manager", "async_manager"
"""Piece by piece within a `with` block."""
AWAITABLE = "awaitable"
"""A plain function returns something to be awaited; what else is said follows: `awaitable async_stream …`."""


def form(how: str, answer: object, before: str | None = None) -> str:
    """With the class of what is handed out; `before` is what the step has for a form already."""
    named, _ = reference(type(answer))
    while not isinstance(named, str):  # a generic: its origin
        named = named[0]
    return f"{AWAITABLE} {how} {named}" if is_awaited(before) else f"{how} {named}"


def is_awaited(text: str | None) -> bool:
    """Whether a plain function gave something to be awaited."""
    return text is not None and text.partition(" ")[0] == AWAITABLE


def parts(text: str | None) -> tuple[str, str]:
    """How, and the class; a stream of a class that is not known for what says nothing."""
    how, _, kind = (text or STREAM).removeprefix(f"{AWAITABLE} ").partition(" ")
    return how, kind
