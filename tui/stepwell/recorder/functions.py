"""Functions that a user hands in: looked at when they are given, not when an agent first needs them."""

import inspect


def takes(function: object, count: int) -> bool:
    """Whether it can be called with so many arguments by position. What does not say how it is called may."""
    if not callable(function):
        return False
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some functions written in C
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True
