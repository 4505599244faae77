"""Exceptions of every kind, that tools raise."""

from __future__ import annotations

import threading
from collections.abc import Callable


class CodedError(Exception):
    """Its own `__init__` takes what its text does not say."""

    def __init__(self, code: int, *, hint: str) -> None:
        super().__init__(f"code {code}")
        self.code, self.hint = code, hint


class DemandingError(ValueError):
    """Cannot be made without more than its text."""

    def __new__(cls, *given: object) -> DemandingError:
        if len(given) != 2:
            raise TypeError("takes two")
        return super().__new__(cls, *given)

    def __init__(self, one: object, other: object) -> None:
        super().__init__(f"{one} and {other}")


class SlottedError(LookupError):
    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        super().__init__("not there")
        self.where = where


class HoldingError(Exception):
    """Holds what cannot be recorded but by its repr."""

    def __init__(self) -> None:
        super().__init__("locked")
        self.lock, self.status = threading.Lock(), 503


def local() -> BaseException:
    class HiddenError(OSError):
        """No import reaches it."""

    return HiddenError(2, "hidden")


def noted() -> BaseException:
    error = KeyError("key")
    error.add_note("look here")
    return error


def caused() -> BaseException:
    try:
        try:
            raise ValueError("first")
        except ValueError as first:
            raise RuntimeError("second") from first
    except RuntimeError as second:
        return second


MAKERS: dict[str, Callable[[], BaseException]] = {
    "plain": lambda: ValueError("bad", 7),
    "attributes": lambda: CodedError(7, hint="try again"),
    "slots": lambda: SlottedError("here"),
    "os": lambda: FileNotFoundError(2, "No such file", "/nowhere"),
    "unicode": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "notes": noted,
    "group": lambda: ExceptionGroup("both", [ValueError("one"), CodedError(2, hint="two")]),
    "interrupt": lambda: KeyboardInterrupt("stop"),
    "exit": lambda: SystemExit(3),
    "stop iteration": lambda: StopAsyncIteration("over"),
    "holding": HoldingError,
    "caused": caused,
}
STAND_INS: dict[str, Callable[[], BaseException]] = {
    "local": local,
    "demanding": lambda: DemandingError("one", "other"),
}


def fail(kind: str) -> None:
    raise {**MAKERS, **STAND_INS}[kind]()
