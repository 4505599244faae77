"""Which tool calls of a run the replies of its models have asked for."""

from collections import defaultdict
from typing import NamedTuple

from stepwell.core.codec import dump
from stepwell.core.leaves import Call, calls, leaves
from stepwell.core.recorded import RecordedStep
from stepwell.core.restated import ended_before
from stepwell.core.shown import viewed
from stepwell.core.state import Path, same
from stepwell.core.steps import LLM_CALL, TOOL_CALL
from stepwell.core.writings import is_word

_LONG = 3
"""So many characters of an argument do not stand in a text that names the tool, too, by chance."""


class Asked(NamedTuple):
    """Reply `number` asked for it: `path` is where, `id` that of the call. In `words`, where it is no call as such."""

    number: int
    path: Path
    id: str | None = None
    words: frozenset[str] = frozenset()


class Asking:
    """The replies of a run so far, and what they have asked for."""

    def __init__(self) -> None:
        self._replies: defaultdict[str | None, list[tuple[RecordedStep, list[Call]]]] = defaultdict(list)
        self._asked: dict[int, Asked] = {}
        self._taken: set[tuple[int, Path]] = set()
        self._newest = (0, "")
        """The text of the reply of that number, in which each call that follows is looked for."""
        self.ids: list[str | None] = []
        """The id of the call that each tool call is the result of."""

    def take(self, step: RecordedStep) -> None:
        """See who asked for a step that begins; each call asks for one."""
        if step.type == TOOL_CALL and (asked := self._call_of(step)) is not None:
            self._asked[step.number] = asked
            if not asked.words:
                self.ids.append(asked.id)
                self._taken.add((asked.number, asked.path))

    def add(self, step: RecordedStep) -> None:
        """What a step gave may ask for others."""
        if step.type == LLM_CALL:
            gave = viewed(step.payload.output, step.payload.output_exact)
            self._replies[step.agent].append((step, list(calls(gave))))

    def of(self, number: int) -> Asked | None:
        """Who asked for a tool call."""
        return self._asked.get(number)

    def _call_of(self, step: RecordedStep) -> Asked | None:
        """The newest reply before a tool call that asks for just this one, and where.

        Of several calls that are alike the first that no earlier step is the result of.
        """
        replies = [each for each in self._replies[step.agent] if ended_before(each[0], step)]
        for reply, asked in reversed(replies):
            alike = [call for call in asked if _is_call(call, step)]
            free = [call for call in alike if (reply.number, call.path) not in self._taken]
            if alike:
                return Asked(reply.number, (free or alike)[0].path, (free or alike)[0].id)
        if replies and not replies[-1][1]:
            reply = replies[-1][0]
            words = _words(self._text_of(reply), step)
            return Asked(reply.number, (), words=words) if words else None
        return None

    def _text_of(self, reply: RecordedStep) -> str:
        if self._newest[0] != reply.number:
            gave = viewed(reply.payload.output, reply.payload.output_exact)
            self._newest = reply.number, _text(gave)
        return self._newest[1]


def still_asks(reply: object, asked: Asked, step: RecordedStep) -> bool:
    """Whether another reply in its place asks for the step, too."""
    if asked.words:
        return asked.words <= _words(_text(reply), step)
    return any(_is_call(call, step) for call in calls(reply))


def _text(reply: object) -> str:
    return reply if isinstance(reply, str) else dump(reply)


def _words(text: str, step: RecordedStep) -> frozenset[str]:
    """The arguments of a tool call that stand in a text which names the tool as well."""
    if not step.name or not is_word(step.name, text):
        return frozenset()
    given = {leaf.text for leaf in leaves(viewed(step.payload.input, step.payload.input_exact))}
    return frozenset(each for each in given if len(each) > _LONG and _stands(each, text))


def _stands(argument: str, text: str) -> bool:
    return is_word(argument, text) or is_word(dump(argument)[1:-1], text)


def _is_call(call: Call, step: RecordedStep) -> bool:
    """Whether the arguments of a call that a model asks for are those of the step, whatever else it was given."""
    if call.name != step.name:
        return False
    given, asked = viewed(step.payload.input, step.payload.input_exact), call.arguments
    if same(given, asked):
        return True
    if not isinstance(asked, dict):
        return False
    inner = [given, *given.values()] if isinstance(given, dict) else [given]
    return any(
        isinstance(value, dict)
        and all(key in value and _alike(value[key], item) for key, item in asked.items())
        for value in inner
    )


def _alike(a: object, b: object) -> bool:
    """Equal but for the order of keys and the spelling of numbers."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)
