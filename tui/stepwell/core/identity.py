"""What makes a recorded step the one that re-executed code asks for, and which of them have the same answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from stepwell.core.codec import Redacted, canonical, encode
from stepwell.core.divergence import Asked
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.shown import held, left_out, masked, shown
from stepwell.core.state import StateStep, step_effect
from stepwell.core.steps import STATE_UPDATE, Payload
from stepwell.core.world import MISSING, SHARED

Lane = int | tuple[str | None]
"""A thread or task by its number; of a run whose recording names none, the agent, where it does one thing at a time."""

HIDDEN = Redacted().text
"""What stands for the name of a model that was not to be recorded."""


class Key(NamedTuple):
    """What a step is but for its input. `parent` is the step whose block encloses it."""

    type: str
    name: str | None
    agent: str | None
    parent: int | None


class Question:
    """What an agent asks for now. Raises EncodingError for an input that cannot be kept."""

    def __init__(self, key: Key, value: object) -> None:
        self.key = key
        self._value = _state_of(value) if key.type == STATE_UPDATE else value
        self.digest = _digest(self._value)

    @cached_property
    def held(self) -> object:
        encoded = encode(self._value)
        return held(encoded.plain, encoded.exact)

    @property
    def shown(self) -> Asked:
        return Asked(self.key.type, self.key.name, self.key.agent, shown(self._value))


class Identities:
    """The inputs of a run's steps, each worked out when it is first compared."""

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._digests: dict[int, bytes] = {}
        self._likenesses: dict[int, int] = {}
        self._numbers: dict[object, int] = {}
        self._states: dict[int, object] = {}
        self._folded = 0
        self._scopes: dict[object, object] = {}
        self._state_steps = [step for step in run.steps if step.type == STATE_UPDATE]
        partial = (
            s.number for s in self._state_steps if any(is_left_out(text) for _, text in _texts(s.payload))
        )
        self._left_out = next(partial, None)
        """From which step on a state may lack something that was not to be recorded."""
        self.lanes = _lanes(run.steps)
        """Where the order within one is known."""

    def likeness(self, step: RecordedStep) -> int:
        """The same for steps that nothing tells apart: equal inputs, in blocks that are alike."""
        found = self._likenesses.get(step.number)
        if found is None:
            found = self._likenesses[step.number] = self._number(self.key(step), self.digest(step))
        return found

    def likeness_of(self, question: Question) -> int:
        """That of the steps that are what is asked now."""
        return self._number(self.key_of(question), question.digest)

    def key(self, step: RecordedStep) -> Key:
        """What the step is but for its input, `parent` being the likeness of that one."""
        return Key(step.type, step.name, step.agent, self._parent(step.parent))

    def key_of(self, question: Question) -> Key:
        """The same of a question."""
        return question.key._replace(parent=self._parent(question.key.parent))

    def has_key_of(self, step: RecordedStep, question: Question) -> bool:
        """Whether they are the same but for their input."""
        own, asked = self.key(step), self.key_of(question)
        return own == (asked._replace(name=step.name) if _is_any_name(step) else asked)

    def _parent(self, number: int | None) -> int | None:
        step = None if number is None else self._run.by_number.get(number)
        return None if step is None else self.likeness(step)

    def _number(self, *what: object) -> int:
        return self._numbers.setdefault(what, len(self._numbers))

    def is_asked_by(self, question: Question, step: RecordedStep) -> bool:
        """Whether the step was given what is asked now: what was left out of the recording may be anything."""
        if self.digest(step) == question.digest:
            return True
        if not self.is_loose(step):
            return False
        known, asked = self.beside(question, step)
        return _digest(asked) == _digest(known)

    def beside(self, question: Question, step: RecordedStep) -> tuple[object, object]:
        """What a step was given, and what is asked now, in either what stands for what was left out."""
        value, by_value = self.value(step), by_hand(step)
        return masked(value, value, by_value=by_value), masked(question.held, value, by_value=by_value)

    def digest(self, step: RecordedStep) -> bytes:
        """Equal for equal inputs."""
        found = self._digests.get(step.number)
        if found is None:
            found = self._digests[step.number] = _digest(self.value(step))
        return found

    def value(self, step: RecordedStep) -> object:
        """What the step was given, every object a stand-in that encodes to what it did; of a state, the whole."""
        if step.type == STATE_UPDATE:
            return self._state(step)
        return held(step.payload.input, step.payload.input_exact)

    def shown(self, step: RecordedStep) -> Asked:
        """The step for people."""
        return Asked(step.type, step.name, step.agent, shown(self.value(step)))

    def is_loose(self, step: RecordedStep) -> bool:
        """Whether something that encodes otherwise may be what the step was given."""
        if step.type == STATE_UPDATE and self._left_out is not None and self._left_out <= step.number:
            return True
        return _is_any_name(step) or by_hand(step) or is_left_out(step.payload.input_exact)

    def _state(self, step: RecordedStep) -> object:
        """The state that the step made, folded from those before it."""
        while step.number not in self._states and self._folded < len(self._state_steps):
            self._fold(self._state_steps[self._folded])
            self._folded += 1
        return self._states.get(step.number)

    def _fold(self, step: RecordedStep) -> None:
        scope = SHARED if step.name == "shared" else step.agent
        given, made = (left_out(*texts) for texts in _texts(step.payload))
        state, _ = step_effect(self._scopes.get(scope, MISSING), StateStep(step.number, scope, given, made))
        self._scopes[scope] = self._states[step.number] = state


def _state_of(value: object) -> object:
    """A state as those that were recorded are folded."""
    encoded = encode(value)
    return left_out(encoded.plain, encoded.exact)


def _texts(payload: Payload) -> tuple[tuple[str | None, str | None], tuple[str | None, str | None]]:
    return (payload.input, payload.input_exact), (payload.output, payload.output_exact)


def is_left_out(*exact: str | None) -> bool:
    """Whether something was not to be recorded of what these say; of an error its whole text says it."""
    return any('"redacted"' in text for text in exact if text is not None)


def _is_any_name(step: RecordedStep) -> bool:
    """Whether its name was not to be recorded, or is not known of a row from elsewhere."""
    return step.name == HIDDEN or (step.name is None and step.lane is None)


def by_hand(step: RecordedStep) -> bool:
    """Whether a row comes from a file or a hand, of whose numbers JSONB may have changed the spelling."""
    return step.lane is None and step.payload.input_exact is None


def _digest(value: object) -> bytes:
    return sha256(canonical(value).encode("utf-8", "surrogatepass")).digest()


def _lanes(steps: Sequence[RecordedStep]) -> dict[int, Lane]:
    """The lane of each step within which order counts. A step of which it is not known has none."""
    lanes: dict[int, Lane] = {step.number: step.lane for step in steps if step.lane is not None}
    agents: dict[str | None, list[RecordedStep]] = defaultdict(list)
    for step in steps:
        if step.lane is None and step.parent is None:
            agents[step.agent].append(step)
    for agent, own in agents.items():
        if not _overlap(own):
            lanes |= {step.number: (agent,) for step in own}
    return lanes


def _overlap(steps: Iterable[RecordedStep]) -> bool:
    latest: datetime | None = None
    for step in steps:
        if latest is not None and step.started is not None and step.started < latest:
            return True
        latest = step.finished or latest
    return False
