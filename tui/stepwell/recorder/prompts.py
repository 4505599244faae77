"""The recent prompts of a run, to which the next ones are stored as differences."""

import threading
from collections import OrderedDict
from typing import NamedTuple

from stepwell.core.codec import Encoded, dump
from stepwell.core.deltas import LONG, LONGEST_CHAIN, difference, nearest
from stepwell.core.prompt_texts import PromptText, take_apart
from stepwell.core.steps import LLM_CALL

_PER_AGENT = 16
"""Conversations that one agent may have at the same time."""
_CHARACTERS = 16_000_000
"""Of all prompts of a run together; beyond that those of the agent that was silent for longest are forgotten."""


class _Known(NamedTuple):
    """A prompt that is in the database."""

    number: int
    length: int
    """From how many rows it is put together."""
    text: PromptText


class Given(NamedTuple):
    """The input of a step as it is to be stored: whole, or the difference to that of step `base`."""

    plain: str
    exact: str | None
    base: int | None = None
    keep: int | None = None
    list: str | None = None
    removed: str | None = None
    agent: str | None = None
    text: PromptText | None = None
    """Of a long prompt, the whole of it."""
    length: int = 1
    """From how many rows it is put together."""


class Prompts:
    """What one process knows of the prompts of one run. For any thread."""

    def __init__(self, deltas: bool = True) -> None:
        """`deltas` False: every prompt is stored whole."""
        self._deltas = deltas
        self.forget()

    def forget(self) -> None:
        """Let the next prompts be whole."""
        self._agents: OrderedDict[str | None, list[_Known]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def given(self, kind: str, agent: str | None, value: object, encoded: Encoded) -> Given:
        """How to store the input `value` of a step that is about to begin; `encoded` is the whole of it."""
        whole = Given(encoded.plain, encoded.exact, agent=agent)
        if len(encoded.plain) < LONG or kind != LLM_CALL or not self._deltas or type(value) is not dict:
            return whole
        with self._lock:
            known = list(self._agents.get(agent, ()))
        text = take_apart(encoded.plain, encoded.exact, [base.text for base in known])
        if text is None:
            return whole
        whole = whole._replace(text=text)
        bases = [base for base in known if base.length < LONGEST_CHAIN]
        found = nearest(text, [base.text for base in bases])
        delta = None if found is None else difference(value, text, found[1])
        if found is None or delta is None:
            return whole
        base = bases[found[0]]
        return Given(
            delta.encoded.plain,
            delta.encoded.exact,
            base.number,
            delta.keep,
            delta.list,
            dump(delta.removed) if delta.removed else None,
            agent,
            text,
            base.length + 1,
        )

    def begun(self, given: Given, number: int | None) -> None:
        """The step has begun as `number`: its input is in the database, and may be a base from now on.

        It takes the place of its own base, since a conversation goes on from where it has got to.
        """
        if given.text is None or number is None:
            return
        with self._lock:
            mine = self._agents.setdefault(given.agent, [])
            mine.append(_Known(number, given.length, given.text))
            self._size += given.text.size
            for known in [known for known in mine if known.number == given.base] or mine[:-_PER_AGENT]:
                mine.remove(known)
                self._size -= known.text.size
            self._agents.move_to_end(given.agent)
            while self._size > _CHARACTERS:
                _, silent = self._agents.popitem(last=False)
                self._size -= sum(known.text.size for known in silent)
