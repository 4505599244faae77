"""What objects say of themselves, which is their own code."""

from collections.abc import Callable


def said(value: object, say: Callable[[object], str]) -> str:
    """`say(value)`, where `say` is `str` or `repr`; words about what that raised, if it did."""
    try:
        return str.__str__(say(value))
    except Exception as error:  # the value's own code may raise anything; the value is kept
        return f"<{say.__name__} raised {type(error).__name__}>"
