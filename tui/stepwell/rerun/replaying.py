"""Replaying in this process: the agent's code is called with a `Run` that answers from the recording."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from uuid import UUID

from stepwell.core.codec import canonical, encode, hold, parse, view
from stepwell.core.divergence import Divergence, Kind, first_difference
from stepwell.core.identity import Identities
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.rerun import Place, Report
from stepwell.core.world import MISSING
from stepwell.errors import EncodingError
from stepwell.recorder.failures import type_of
from stepwell.recorder.run import Options, Run
from stepwell.replay.recorded import load
from stepwell.rerun import guards, loop, push
from stepwell.rerun.chance import Chance
from stepwell.rerun.clock import Clock, microseconds
from stepwell.rerun.database import Database, Visit
from stepwell.rerun.dialogue import Dialogue
from stepwell.rerun.executing import Instead
from stepwell.rerun.live import Live, LiveBook
from stepwell.rerun.places import Places, libraries
from stepwell.rerun.playback import Playback
from stepwell.rerun.stops import BeginAgain, Diverged, Reached, Refused, Stop, quiet
from stepwell.store.connect import resolve

WELL = "an end without an error"

Agent = Callable[[Run], Any] | Callable[[], push.PushAgent] | push.PushAgent
"""Takes the run; returns what it has come to, or something to be awaited for that. Or one that is fed, or its class."""
OnStep = Callable[[RecordedStep, Place | None], None]


def replay(
    run_id: UUID | str,
    agent: Agent,
    to: int | None = None,
    *,
    dsn: str | None = None,
    pure: Collection[str] = (),
    stand_ins: Mapping[str, Callable[..., Any]] | None = None,
) -> Report:
    """Call `agent` with the run as it was recorded. Raises Diverged where it does otherwise.

    The agent gets the same `run` as when it was recorded: models and tools answer from the recording, at most to step
    `to`; the clock, `random` and `uuid4` are the recorded ones. An object with `llm_response`, `tool_result` and
    `step()`, or a class or function that makes one, is fed with the answers instead: see `stepwell.rerun.push`.
    `run_id` may be the beginning of an id, `@failed` or `@last`, `dsn` as for a Recorder. Tools named in `pure` are
    executed again and compared, those in `stand_ins` replaced. Raises Refused where the recording has no answer that
    can be handed out, NotFoundError and UsageError where there is no such run.

    `run.connection` is the database as of where the agent is: of psycopg, to be awaited where a loop runs, unless
    `run.named` was given one that is not; watched tables are meant by their names without a schema. It is read-only;
    what the agent writes to a watched table it alone sees. For that it is called a second time, from the beginning,
    unless it is known to write (`stepwell.rerun.database`). What begins and ends its transactions means savepoints.
    """
    target = resolve(dsn)
    recorded = load(target, str(run_id))
    report = play(recorded, agent, to, Instead(pure, stand_ins or {}), database=Database(target))
    if report.divergence is not None:
        raise Diverged(report.divergence)
    if report.refused is not None:
        raise Refused(report.refused)
    return report


def play(
    recorded: RecordedRun,
    agent: Agent,
    to: int | None = None,
    instead: Instead = Instead(),  # noqa: B008 it is a constant
    identities: Identities | None = None,
    on_step: OnStep = lambda *_: None,
    connection: Callable[[], Any] | None = None,
    database: Database | None = None,
    live: Live | None = None,
    on_end: Callable[[Report], object] | None = None,
) -> Report:
    """Call the agent and say what came of it. `on_step` is called with each step that it asks for, and where.
    `on_end` is told what comes of it as soon as that is known: the agent may go on, and never come to an end.

    `Run.connection` leads to the tables of then in `database`, or else is what `connection` gives. An agent that writes
    to these tables is called a second time, from the beginning, unless the database was told that it does. With `live`
    it goes on for real where the recording has no answer.
    """
    dialogue = Dialogue(recorded, identities, to, on_step)

    def known() -> None:
        if on_end is not None and not isinstance(dialogue.stop, BeginAgain):
            on_end(_report(dialogue, MISSING))

    dialogue.on_end = known
    clock = Clock(microseconds(_begin(recorded)) or 0)
    chance = Chance(recorded, dialogue.lanes)
    visit = None if database is None else Visit(database, dialogue)
    playback = Playback(dialogue, clock, chance, instead, connection, visit)
    head = recorded.head
    guarded = ExitStack()

    def leave() -> None:
        guarded.close()
        clock.go_live()

    going = None if live is None else LiveBook(playback, live, leave)
    run = Run(going or playback, Options(run_seed=recorded.seed, run_name=head.name, run_tags=head.tags))

    def stuck() -> None:
        raise dialogue.end(Reached("nothing is left that the agent waits for"))

    with ExitStack() as stack:
        stack.enter_context(guarded)
        if going is not None:
            stack.callback(going.close)
        guarded.enter_context(guards.armed(dialogue.note, () if database is None else database.hosts))
        if visit is not None:
            stack.callback(visit.close)
        stack.enter_context(clock.installed())
        guarded.enter_context(chance.installed())
        stack.enter_context(loop.installed(clock, stuck))
        stack.enter_context(quiet())
        result, error = _call(agent, run, dialogue)
    if database is not None and isinstance(dialogue.stop, BeginAgain):
        database.writing = True
        return play(recorded, agent, to, instead, identities, on_step, connection, database, live, on_end)
    if chance.missing:
        dialogue.note("uuid was drawn from more often than was recorded")
    if dialogue.stop is None and not dialogue.live:
        _compare_end(dialogue, playback, result, error)
    report = _report(dialogue, result)
    if going is None or going.branch is None:
        return report
    ended = None if error is None else " ".join(f"{type_of(error)}: {error}".removesuffix(": ").split())
    return replace(report, branch=str(going.branch), stopped=report.stopped or ended)


def _begin(recorded: RecordedRun) -> Any:
    first = recorded.steps[0].started if recorded.steps else None
    return recorded.head.started or first


def _call(agent: Agent, run: Run, dialogue: Dialogue) -> tuple[object, BaseException | None]:
    """What the agent returned and raised, as far as a stop did not end it."""
    try:
        with run:
            result = push.begin(agent, run)
            if inspect.isawaitable(result):
                result = asyncio.run(_wait(result))
    except Stop as stop:
        dialogue.end(stop)
        return None, None
    except MemoryError as error:
        if "MemoryError" not in (dialogue.run.head.error or ""):
            dialogue.end(Refused(f"out of memory{_at(error)}"))
        return None, error
    except BaseException as error:  # whatever ends the agent is compared with what ended it then
        return None, error
    return result, None


async def _wait(result: Any) -> Any:
    return await result


def _compare_end(dialogue: Dialogue, playback: Playback, result: object, error: BaseException | None) -> None:
    recorded = dialogue.run
    found = dialogue.left() if recorded.complete else None
    found = found or _other_end(recorded, error)
    if found is None and error is None and recorded.result is not None:
        found = _other_result(recorded, result if playback.given is MISSING else playback.given)
    if found is not None:
        dialogue.end(Diverged(found))
        if error is not None:
            what = " ".join(f"{type_of(error)}: {error}".removesuffix(": ").split())
            dialogue.note(f"the agent ended with {what}{_at(error)}")


def _at(error: BaseException) -> str:
    """Where in the agent's code it was raised."""
    place = Places(libraries()).of_error(error)
    return "" if place is None else f" at {place}"


def _other_end(recorded: RecordedRun, error: BaseException | None) -> Divergence | None:
    if not recorded.complete:
        return None
    expected = recorded.head.error
    actual = None if error is None else f"{type_of(error)}: {error}".removesuffix(": ")
    if recorded.head.status == "ok" and actual is None:
        return None
    if expected is not None and expected == actual:
        return None
    return Divergence(Kind.RESULT, None, "$", expected or WELL, actual or WELL)


def _other_result(recorded: RecordedRun, result: object) -> Divergence | None:
    plain = parse(recorded.result or "null")
    exact = None if recorded.result_exact is None else parse(recorded.result_exact)
    try:
        if canonical(hold(plain, exact)) == canonical(result):
            return None
        encoded = encode(result)
    except EncodingError:
        return None
    now = view(parse(encoded.plain), None if encoded.exact is None else parse(encoded.exact))
    return Divergence(Kind.RESULT, None, *first_difference(view(plain, exact), now))


def _report(dialogue: Dialogue, result: object) -> Report:
    stop = dialogue.stop
    return Report(
        len(dialogue.places),
        dialogue.last,
        dialogue.places.get(dialogue.last or 0),
        stop.divergence if isinstance(stop, Diverged) else None,
        str(stop) if isinstance(stop, Reached) else None,
        str(stop) if isinstance(stop, Refused) else None,
        result if stop is None else MISSING,
        tuple(dialogue.notes),
    )
