"""Exceptions as recorded: what was raised, in words and exactly."""

import psycopg

from stepwell.core.codec import canonical, encode
from stepwell.errors import EncodingError


def type_of(error: BaseException) -> str:
    """`module.Qualname`; exceptions of Python's own go without their module."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as problem:  # a broken __str__ may raise anything, and must not hide the error itself
        return f"<its text raised {type(problem).__name__}>"


def failure(error: BaseException) -> str:
    """JSON text of `{"type", "message", "value", "exact"}`; value and exact are the codec's of the exception."""
    value, exact = "null", "null"
    try:
        encoded = encode(error)
        value, exact = encoded.plain, encoded.exact or "null"
    except EncodingError:
        pass  # what it holds cannot be kept; its type and its message can
    kind, message = encode(type_of(error)).plain, encode(message_of(error)).plain
    return f'{{"type": {kind}, "message": {message}, "value": {value}, "exact": {exact}}}'


def canonical_failure(error: BaseException) -> str:
    """Equal for the same exception with the same text."""
    return canonical(["error", type_of(error), message_of(error)])


def cause(error: BaseException) -> str:
    """One line that says why the database did not take something."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    lines = message_of(error).strip().splitlines()
    return lines[0] if lines else type_of(error)
