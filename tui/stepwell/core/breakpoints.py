"""Breakpoints: what continue and reverse-continue stop at.

A new kind is one class with `kind`, `find`, `label`, `text` and `parse`, and one line in `KINDS`.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

from stepwell.core.columns import positions
from stepwell.core.heads import Heads
from stepwell.core.laps import Laps
from stepwell.core.steps import StepHead
from stepwell.errors import UsageError

_OFF = "off "


class Context(Protocol):
    """What a condition may ask about a run."""

    @property
    def steps(self) -> Heads: ...

    @property
    def faults(self) -> "array[int]":
        """Indexes of the steps that raised, or were never finished in a run that has ended."""

    @property
    def laps(self) -> Laps:
        """Which steps are in loops."""


class Condition(Protocol):
    """A predicate over steps. Conditions are values: equal when they mean the same."""

    kind: ClassVar[str]

    def find(self, run: Context) -> "array[int]":
        """The indexes of the steps that it matches, in order."""

    @property
    def label(self) -> str:
        """In a few words, for people."""

    @property
    def text(self) -> str:
        """What `parse_condition` reads back."""

    @classmethod
    def parse(cls, argument: str) -> Self:
        """From what follows `kind:`; raises UsageError."""


@dataclass(frozen=True, slots=True)
class OnName:
    """Steps of one tool or model."""

    kind: ClassVar[str] = "name"
    name: str

    def find(self, run: Context) -> "array[int]":
        return positions(run.steps.name.is_(self.name))

    @property
    def label(self) -> str:
        return self.name

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, argument: str) -> Self:
        if not argument:
            raise UsageError("name: needs a tool or a model, as in name:search_orders")
        return cls(argument)


@dataclass(frozen=True, slots=True)
class OnType:
    """Steps of one type."""

    kind: ClassVar[str] = "type"
    type: str

    def find(self, run: Context) -> "array[int]":
        return positions(run.steps.type.is_(self.type))

    @property
    def label(self) -> str:
        return f"every {self.type}"

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.type}"

    @classmethod
    def parse(cls, argument: str) -> Self:
        if not argument:
            raise UsageError("type: needs a step type, as in type:tool_call")
        return cls(argument)


@dataclass(frozen=True, slots=True)
class OnError:
    """Steps that raised, or that a run which has ended left in doubt."""

    kind: ClassVar[str] = "error"

    def find(self, run: Context) -> "array[int]":
        return run.faults

    @property
    def label(self) -> str:
        return "errors"

    @property
    def text(self) -> str:
        return self.kind

    @classmethod
    def parse(cls, argument: str) -> Self:
        if argument:
            raise UsageError(f"error takes no argument, not {argument!r}")
        return cls()


@dataclass(frozen=True, slots=True)
class OnLap:
    """The first call of the k-th lap of any loop."""

    kind: ClassVar[str] = "lap"
    lap: int = 2

    def find(self, run: Context) -> "array[int]":
        return run.laps.opening(self.lap)

    @property
    def label(self) -> str:
        return f"lap {self.lap} of a loop"

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.lap}"

    @classmethod
    def parse(cls, argument: str) -> Self:
        argument = argument.strip()
        if not argument:
            return cls()
        if not (argument.isascii() and argument.isdigit() and len(argument) < 10 and int(argument) > 0):
            raise UsageError(f"lap: needs a number from 1, as in lap:2, not {argument!r}")
        return cls(int(argument))


KINDS: Mapping[str, type[Condition]] = {
    OnName.kind: OnName,
    OnType.kind: OnType,
    OnError.kind: OnError,
    OnLap.kind: OnLap,
}


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A condition, switched on or off."""

    condition: Condition
    enabled: bool = True

    @property
    def text(self) -> str:
        """What `parse_breakpoint` reads back."""
        return ("" if self.enabled else _OFF) + self.condition.text


def parse_condition(text: str) -> Condition:
    """`name:search_orders`, `type:tool_call`, `error`, `lap:2`; raises UsageError."""
    kind, _, argument = text.partition(":")
    found = KINDS.get(kind.strip())
    if found is None:
        raise UsageError(f"no breakpoint kind {kind.strip()!r}: one of {', '.join(KINDS)}")
    return found.parse(argument)


def parse_breakpoint(text: str) -> Breakpoint:
    """A condition, after `off ` where it is switched off; raises UsageError."""
    enabled = not text.startswith(_OFF)
    return Breakpoint(parse_condition(text if enabled else text.removeprefix(_OFF)), enabled)


def default_for(step: StepHead) -> Condition:
    """What `b` offers first at a step: its name, or its type where it has none."""
    return OnName(step.name) if step.name else OnType(step.type)


def toggled(breakpoints: Sequence[Breakpoint], condition: Condition) -> tuple[Breakpoint, ...]:
    """With this condition added (switched on), or removed where it was there already."""
    kept = tuple(point for point in breakpoints if point.condition != condition)
    return kept if len(kept) < len(breakpoints) else (*kept, Breakpoint(condition))


def switched(breakpoints: Sequence[Breakpoint], condition: Condition) -> tuple[Breakpoint, ...]:
    """With this condition switched off where it was on, and on where it was off."""
    return tuple(
        replace(point, enabled=not point.enabled) if point.condition == condition else point
        for point in breakpoints
    )
