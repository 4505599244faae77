"""Recordings in files: an agent replayed on one, as a test does, and recorded anew when pytest is told to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from uuid import UUID

from stepwell.core import cassette
from stepwell.core.recorded import RecordedRun
from stepwell.core.rerun import Report
from stepwell.core.steps import LLM_CALL, TOOL_CALL, RunHead
from stepwell.errors import UsageError
from stepwell.recorder.failures import type_of
from stepwell.recorder.redaction import Redact
from stepwell.replay.cassettes import ENDING, PACKED, load, redacted, save
from stepwell.rerun.executing import Instead
from stepwell.rerun.memory import record
from stepwell.rerun.playing import Agent, Terms, play
from stepwell.rerun.replaying import stop_of
from stepwell.rerun.scripts import MAIN
from stepwell.rerun.tableless import tableless

ANEW: ContextVar[list[str] | None] = ContextVar("stepwell_record", default=None)
"""Set where recordings are to be made anew: what was recorded is added to it, in words."""


def replay_file(
    path: str | os.PathLike[str],
    agent: Agent,
    *,
    pure: Collection[str] = (),
    stand_ins: Mapping[str, Callable[..., Any]] | None = None,
    redact: Redact | None = None,
) -> Report:
    """Call `agent` with the run in a file that `stepwell export` wrote. Raises Diverged where it does otherwise.

    Like `stepwell.replay`, and without a database. Raises Refused where the recording has no answer that can be handed
    out, NotFoundError for no such file, InvalidFileError for what is no recording.
    Under `pytest --stepwell-record` the agent is run for real instead, and the file is written anew, or for the first
    time; `redact` is as for a Recorder, `pure` and `stand_ins` mean nothing then. Raises what the agent raises, and
    then the file stays as it is, unless the run in it ended with an exception of that type; UsageError where something
    is redacted in it and no `redact` is given.
    """
    __tracebackhide__ = True  # a failed test shows its own line
    place = Path(path)
    if (anew := ANEW.get()) is not None:
        made = _record(place, load(place) if place.exists() else _nothing(place), agent, redact)
        anew.append(f"{place}: {_told(made)}")
        return Report(len(made.steps), len(made.steps) or None)
    terms = Terms(instead=Instead(pure, stand_ins or {}), connection=tableless)
    report = play(load(place), agent, terms=terms)
    advice = f"If that is meant, record {place.name} anew: pytest --stepwell-record"
    if (stop := stop_of(report, advice)) is not None:
        raise stop
    return report


def _record(path: Path, old: RecordedRun, agent: Agent, redact: Redact | None) -> RecordedRun:
    __tracebackhide__ = True
    if redact is None and (names := redacted(old)):
        told = ", ".join(name or "a whole value" for name in names)
        raise UsageError(
            f"{path.name}: {told} redacted in it; say what to redact: replay_file(…, redact=[…])"
        )
    made, error = record(agent, old, redact)
    if error is not None and not _is_known(error, old):
        error.add_note(
            f"{path.name} stays as it is: a run that fails is not recorded in place of another end"
        )
        raise error
    save(path, cassette.pack(made, compressed=path.suffix == PACKED))
    return made


def _nothing(path: Path) -> RecordedRun:
    """What stands for a recording that is not there yet."""
    name = path.name.removesuffix(PACKED).removesuffix(".json").removesuffix(ENDING)
    return RecordedRun(RunHead(UUID(int=0), "unknown", name), ())


def _is_known(error: BaseException, old: RecordedRun) -> bool:
    """Whether the run of before ended with such an exception too, which may have been that of a script."""
    known = (old.head.error or "").partition(": ")[0]
    return isinstance(error, Exception) and known in (type_of(error), f"{MAIN}.{type(error).__qualname__}")


def _told(run: RecordedRun) -> str:
    """What a recording took: `3 steps; model calls: gpt-5-mini ×2; tool calls: search ×1`."""
    parts = [f"{len(run.steps)} steps"]
    for kind, title in ((LLM_CALL, "model calls"), (TOOL_CALL, "tool calls")):
        names = Counter(step.name or "?" for step in run.steps if step.type == kind)
        if names:
            parts.append(f"{title}: {', '.join(f'{name} ×{times}' for name, times in names.items())}")
    if run.head.error is not None:
        parts.append(f"ended with {run.head.error}")
    return "; ".join(parts)
