"""Breakpoints: what continue and reverse-continue stop at.

A new kind is one class with `kind`, `matches`, `label`, `text` and `parse`, and one line in `KINDS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

from stepwell.core.steps import StepHead
from stepwell.errors import UsageError

_OFF = "off "


class Context(Protocol):
    """What a condition may ask about the run around a step."""

    @property
    def running(self) -> bool:
        """Whether the run is still running, so that an unfinished step is no fault."""

    @property
    def lap_opened(self) -> Mapping[int, int]:
        """Step number to lap, for the first call of every lap of every loop."""


class Condition(Protocol):
    """A predicate over steps. Conditions are values: equal when they mean the same."""

    kind: ClassVar[str]

    def matches(self, step: StepHead, context: Context) -> bool: ...

    @property
    def label(self) -> str:
        """In a few words, for people."""

    @property
    def text(self) -> str:
        """What `parse_condition` reads back."""

    @classmethod
    def parse(cls, argument: str) -> Self:
        """From what follows `kind:`; raises UsageError."""


def is_fault(step: StepHead, running: bool) -> bool:
    """Whether the step raised, or was never finished in a run that has ended."""
    return step.error is not None or (not running and step.in_doubt)


@dataclass(frozen=True, slots=True)
class OnName:
    """Steps of one tool or model."""

    kind: ClassVar[str] = "name"
    name: str

    def matches(self, step: StepHead, context: Context) -> bool:  # noqa: ARG002
        return step.name == self.name

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

    def matches(self, step: StepHead, context: Context) -> bool:  # noqa: ARG002
        return step.type == self.type

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

    def matches(self, step: StepHead, context: Context) -> bool:
        return is_fault(step, context.running)

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

    def matches(self, step: StepHead, context: Context) -> bool:
        return context.lap_opened.get(step.number) == self.lap

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
