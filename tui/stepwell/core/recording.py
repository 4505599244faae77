"""Whole runs as values, on their way from a file into the tables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid5

from stepwell.core.world import MISSING

_NAMESPACE = UUID("efa8c3b2-5c9f-4901-bc9f-afd6d730fa7f")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` as a plain text column can hold it: NUL and lone surrogates become U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, in the words of the file: shown as `type: message`."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class ImportedStep:
    """One row of agent_steps.

    `input` or `output` MISSING is the SQL NULL: not in the file, and for `output` with no `error` in doubt.
    Times are those of the file, None where it has none. The three counts are those of the columns of the
    same names; `finished_order` and `started_before` are None for a step that never finished.
    """

    number: int
    type: str
    input: object = MISSING
    output: object = MISSING
    name: str | None = None
    agent: str | None = None
    parent: int | None = None
    seed: int | None = None
    started: datetime | None = None
    finished: datetime | None = None
    finished_order: int | None = None
    finished_before: int = 0
    started_before: int | None = None
    error: Failure | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One row of agent_runs and its steps, in the order of their numbers.

    `status` is `ok`, `failed`, or None where the file does not say how the run ended. `name` None leaves
    the name to whoever knows the file's.
    """

    steps: tuple[ImportedStep, ...]
    name: str | None = None
    status: str | None = None
    error: Failure | None = None
    tags: Mapping[str, object] = field(default_factory=dict)
    started: datetime | None = None
    finished: datetime | None = None

    @property
    def finished_steps(self) -> int:
        return sum(step.finished_order is not None for step in self.steps)

    @property
    def agents(self) -> tuple[str, ...]:
        """Whoever took steps, in the order of their first ones."""
        return tuple(dict.fromkeys(step.agent for step in self.steps if step.agent is not None))


def run_id(digest: str, index: int) -> UUID:
    """The id of run `index` of a file with this content digest: the same whenever it is imported."""
    return uuid5(_NAMESPACE, f"{digest}#{index}")
