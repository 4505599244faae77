"""Where re-executed agent code and a recording part."""

from dataclasses import dataclass
from enum import StrEnum

from stepwell.core.lines import one_line, printable
from stepwell.core.state import Path, path_text, same
from stepwell.core.steps import TOOL_CALL
from stepwell.core.world import MISSING

BRIEF = 60
"""Characters of a value that one line shows."""


class Kind(StrEnum):
    """What is not as it was recorded, in words that follow a step's number."""

    INPUT = "input changed"
    STATE = "state changed"
    OUTCOME = "outcome changed"
    """What a block or a tool that was executed on purpose gave."""
    ORDER = "order changed"
    OTHER = "another call"
    """In place of a step."""
    NOT_RECORDED = "not recorded"
    """Beside all steps."""
    NEVER_ASKED = "never asked"
    RAISED = "the agent raised"
    """In place of what it asked for then."""
    RESULT = "result changed"


@dataclass(frozen=True, slots=True)
class Asked:
    """A step as one side has it, for people: `value` is JSON-like, MISSING where there is none."""

    type: str
    name: str | None = None
    agent: str | None = None
    value: object = MISSING

    def title(self) -> str:
        """`tool_call search_orders of b`."""
        return " ".join(word for word in (self.type, self.name or "", self._whose()) if word)

    def call(self) -> str:
        """`lookup(order=5) of b`; what is no tool's call, or has no such input, by its title."""
        if self.type != TOOL_CALL or not self.name or not isinstance(self.value, dict):
            return self.title()
        given = ", ".join(f"{key}={one_line(value)}" for key, value in self.value.items())
        return f"{_cut(f'{self.name}({given})')} {self._whose()}".rstrip()

    def _whose(self) -> str:
        return "" if self.agent is None else f"of {self.agent}"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first thing that the agent did otherwise.

    `step` is the recorded step that it is about, None where it is about none or about the end of the run.
    `path` leads to `expected`, which was recorded, and `actual`, which the agent has now; each MISSING where that
    side has nothing there. `recorded` and `asked` are the whole steps, None where that side has none.
    """

    kind: Kind
    step: int | None
    path: str
    expected: object
    actual: object
    recorded: Asked | None = None
    asked: Asked | None = None
    where: str | None = None
    """The line of the agent's code that asked, `agent.py:31`."""
    others: tuple[int, ...] = ()
    """Further steps that it is as true of, such as all those never asked."""
    hint: str | None = None
    """What may be the cause, where that is none of the agent's doing."""
    after: int | None = None
    """Of a call that is about no step while others are still to come: the step asked for before it, 0 for none."""


def first_difference(recorded: object, actual: object) -> tuple[str, object, object]:
    """The path of the first place at which two JSON-like values differ, and what either has there.

    Where their views are equal (a tuple for a list) the whole values are given, at `$`.
    """
    found = _difference((), recorded, actual)
    if found is None:
        return "$", recorded, actual
    path, old, new = found
    return path_text(path), old, new


def _difference(path: Path, old: object, new: object) -> tuple[Path, object, object] | None:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            found = _difference((*path, str(key)), old.get(key, MISSING), new.get(key, MISSING))
            if found is not None:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            sides = [side[index] if index < len(side) else MISSING for side in (old, new)]
            found = _difference((*path, index), *sides)
            if found is not None:
                return found
        return None
    return None if same(old, new) else (path, old, new)


def distance(recorded: object, actual: object, most: int = 1000) -> int:
    """In how many places two JSON-like values differ, counted up to `most`: to tell which step was meant."""
    left = [(recorded, actual)]
    count = 0
    while left and count < most:
        old, new = left.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            left += [(old.get(key, MISSING), new.get(key, MISSING)) for key in {*old, *new}]
        elif isinstance(old, list) and isinstance(new, list):
            count += abs(len(old) - len(new))
            left += zip(old, new, strict=False)
        elif not same(old, new):
            count += 1
    return count


def sentence(found: Divergence) -> str:
    """One line: `step 7: input changed at $.limit: recorded 50, now 20`."""
    where = _place(found)
    hint = "" if found.hint is None else f"; {found.hint}"
    if found.kind is Kind.RAISED:
        return printable(f"{where}: {found.kind} where {found.expected} was recorded: {found.actual}{hint}")
    more = f" (and {len(found.others)} more)" if found.others else ""
    at = "" if found.path == "$" else f" at {found.path}"
    return printable(f"{where}: {found.kind}{at}: {_what(found)}{more}{hint}")


def _what(found: Divergence) -> str:
    match found.kind:
        case Kind.NOT_RECORDED:
            return _cut(str(found.actual)) if found.asked is None else found.asked.call()
        case Kind.NEVER_ASKED:
            return _cut(str(found.expected)) if found.recorded is None else found.recorded.call()
        case Kind.OTHER | Kind.ORDER:
            return f"recorded {_cut(str(found.expected))}, now {_cut(str(found.actual))}"
        case _:
            return _sides(found.expected, found.actual)


def _place(found: Divergence) -> str:
    if found.step is not None:
        return f"step {found.step}"
    if found.after is not None:
        return f"after step {found.after}" if found.after else "before the first step"
    return "after the last step"


def _sides(expected: object, actual: object) -> str:
    """Both sides; of two texts that begin alike for long, what follows."""
    if isinstance(expected, str) and isinstance(actual, str):
        same_start = alike(expected, actual)
        if same_start > BRIEF // 2:
            rests = expected[same_start:], actual[same_start:]
            then, now = ("ends" if not rest else _brief(rest) for rest in rests)
            return f"alike for {same_start:,} characters, then recorded {then}, now {now}"
    return f"recorded {_brief(expected)}, now {_brief(actual)}"


def alike(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    shortest = min(len(one), len(other))
    return next((at for at in range(shortest) if one[at] != other[at]), shortest)


def in_order_of(pattern: object, value: object) -> object:
    """A JSON-like value with its keys in another one's order, which says nothing about either."""
    if isinstance(pattern, dict) and isinstance(value, dict):
        keys = [*(key for key in pattern if key in value), *(key for key in value if key not in pattern)]
        return {key: in_order_of(pattern.get(key), value[key]) for key in keys}
    if isinstance(pattern, list) and isinstance(value, list):
        return [in_order_of(*both) for both in zip(pattern, value, strict=False)] + value[len(pattern) :]
    return value


def _brief(value: object) -> str:
    if value is MISSING:
        return "nothing"
    return _cut(one_line(value))


def _cut(text: str) -> str:
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"
