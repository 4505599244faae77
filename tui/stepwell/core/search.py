"""Search hits: where a text first appears, not every later prompt that repeats it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stepwell.core.steps import LLM_CALL


@dataclass(frozen=True, slots=True)
class Found:
    """A step, and whether the text is in what it was given or in what it gave."""

    number: int
    type: str
    agent: str | None
    in_input: bool
    in_output: bool
    call_hash: int | None = None
    """Equal for tool calls with the same name, arguments and result."""
    base: int | None = None
    """The step whose prompt this one holds too, apart from what was looked at."""


def needle(text: str) -> str:
    """The text as JSON spells it inside a string, as far as JSONB can hold it."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "replace").decode()


def folds_case(text: str) -> bool:
    """A text without capitals matches either case, as in vim's smartcase."""
    return text == text.lower()


def first_appearances(found: Iterable[Found]) -> Iterator[int]:
    """Numbers of the steps where the text is new.

    A prompt repeats what was in the same agent's previous prompt and what has been answered since; one that
    was looked at as a difference repeats its base too. A lap of a loop repeats the call before. `found` are
    all matching steps, and all model calls whether they match or not, in order.
    """
    repeated: dict[str | None, bool] = {}
    holds: dict[int, bool] = {}
    calls: set[int] = set()
    for step in found:
        if step.type == LLM_CALL:
            is_new = step.in_input and not repeated.get(step.agent, False)
            if is_new or step.in_output:
                yield step.number
            holds[step.number] = step.in_input or (step.base is not None and holds.get(step.base, False))
            repeated[step.agent] = holds[step.number] or step.in_output
        else:
            repeated[step.agent] = True
            if step.call_hash not in calls:
                yield step.number
            if step.call_hash is not None:
                calls.add(step.call_hash)
