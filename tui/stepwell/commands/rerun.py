"""`stepwell replay RUN --agent package.module:callable`: the agent's own code on its recording, in a process apart."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from stepwell.app.present.figures import size
from stepwell.app.present.leaving import stayed
from stepwell.app.present.text import clean_lines
from stepwell.commands import agents
from stepwell.commands.agents import add_agent, memory_of, refuse_without
from stepwell.commands.leave import may_go_on, went
from stepwell.commands.output import emit, line
from stepwell.commands.session import address_of, opened, step_at, target_of
from stepwell.core.address import parse_target
from stepwell.core.divergence import Divergence, sentence
from stepwell.core.explaining import explained
from stepwell.core.rerun import Leave, Report, report_to_json
from stepwell.core.rerun import Place as Line
from stepwell.core.steps import RunHead
from stepwell.errors import UsageError
from stepwell.rerun.child.output import MOST, NOT_KEPT

if TYPE_CHECKING:
    from stepwell.core.address import Target as Place
    from stepwell.rerun.child.process import AgentProcess
    from stepwell.store.connect import Target

SAME, DIVERGED, REFUSED, INTERRUPTED = 0, 1, 2, 130
WAS_INTERRUPTED = "was interrupted"
FLAGS = (*agents.FLAGS, "output", "live", "yes")
JSON_HELP = """\
with --agent and --json, one object:
  run_id, agent, to (a step's number or null), milliseconds
  same       whether the agent did what was recorded, as far as it was to go
  served     how many steps it asked for and was answered, of steps in the run
  last       the step that was answered last, or null
  place      where that was asked for, {"file", "line", "function"}, or null
  divergence what it did otherwise, or null: {"kind", "step", "path",
             "expected", "actual", "recorded", "asked", "where", "others",
             "hint", "after"}; expected and recorded are the recording's side,
             actual and asked the agent's; recorded and asked are whole steps,
             {"type", "name", "agent", "value"}, or null; a side that has
             nothing is left out; hint is what may be the cause; of a call that
             is none of the steps, after is the step before it, if others were
             still to come
  stopped    why it went no further though nothing is wrong, or null
  refused    why the replay could not go on, or how the process died, or null
  result     what the agent returned, left out where it did not
  notes      what it did beside its run, such as a connection that was refused
  leave      where it would go on for real, for want of an answer, or null:
             {"step", "then", "connection"}; then is a list of [name, how
             often], what the recorded run called from there on; connection is
             whether the agent has used run.connection, which ends there
  branch     the run in which it did (--live), or null; what it ended with there
             is in stopped, how its process died in refused
  output     what it printed

exit status with --agent
  0  the same, or it went on for real (--live) and ended well
  1  it diverges, it went on for real and failed, or no such run or step
  2  wrong usage, the agent cannot be imported, or the replay could not go on
  130  interrupted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is of use with `--agent` alone, and that."""
    group = add_agent(parser)
    group.add_argument("--output", action="store_true", help="print what the agent printed, too")
    group.add_argument(
        "--live",
        action="store_true",
        help="where the recording has no answer, go on for real in a branch of the run; it asks first",
    )
    group.add_argument("--yes", action="store_true", help="with --live: do not ask")


def check(args: argparse.Namespace) -> None:
    """Raises UsageError for what goes only with `--agent`, or not with it."""
    if args.agent is not None:
        if args.asked:
            raise UsageError("--asked shows a world; it does not go with --agent")
        if args.yes and not args.live:
            raise UsageError("--yes goes with --live")
        if args.live and not args.yes and not sys.stdin.isatty():
            raise UsageError("--live asks first, and there is no terminal to ask on; --yes says yes")
        return
    refuse_without(args, FLAGS)


def run(args: argparse.Namespace) -> int:
    """Replay, and say what came of it. Raises NotFoundError for no such run or step, UsageError, DatabaseError."""
    from stepwell.rerun.child.process import LIVE_SECONDS, TIMEOUT, AgentProcess

    target = target_of(args)
    address = address_of(args.run)
    place = parse_target(args.to) if args.to else address.step
    if args.live and place is not None:
        raise UsageError("--live goes on from where the recording has no answer; it does not go with a step")
    head, to = _found(target, address.run, place)

    def process(timeout: float) -> AgentProcess:
        return AgentProcess(
            target,
            head.run_id,
            args.agent,
            python=args.python,
            pure=args.pure or (),
            timeout=timeout if args.timeout is None else args.timeout,
            memory=memory_of(args),
        )

    with process(TIMEOUT) as replaying:
        report, milliseconds = replaying.replay(to), replaying.milliseconds
    leave = report.leave if args.live else None
    if leave is not None:
        if not args.json:
            _print(_lines(head, report, milliseconds, printed=args.output))
        if may_go_on(leave, asked=not args.yes):
            with process(LIVE_SECONDS) as going:
                report, milliseconds = _gone(going, leave), going.milliseconds
        elif not args.json:
            return _status(report)
    if args.json:
        emit(as_json(head, args.agent, to, report, milliseconds))
    elif report.branch is None:
        _print(_lines(head, report, milliseconds, printed=args.output))
        if args.live:
            line(stayed(report, leave))
    else:
        with opened(target, report.branch) as (branch, _):
            _print(went(report, branch))
        _print(_beside(report, printed=args.output))
    return _status(report)


def _gone(process: AgentProcess, leave: Leave) -> Report:
    """What came of going on for real. An interrupt ends it, and what was done by then is told."""
    try:
        return process.replay(live=leave.step)
    except KeyboardInterrupt:
        if process.interrupted is None or process.interrupted.branch is None:
            raise
        return replace(process.interrupted, refused=WAS_INTERRUPTED)


def _status(report: Report) -> int:
    if report.refused == WAS_INTERRUPTED:
        return INTERRUPTED
    if report.branch is not None:
        return SAME if report.stopped is None and report.refused is None else DIVERGED
    return DIVERGED if report.divergence is not None else SAME if report.same else REFUSED


def _print(lines: Iterator[str]) -> None:
    for text in lines:
        line(text)


def _found(target: Target, prefix: str, place: Place | None) -> tuple[RunHead, int | None]:
    """The run, and the step to go to, None for all of it."""
    with opened(target, prefix) as (head, replayer):
        return head, None if place is None else step_at(head, replayer, place).number


def as_json(
    head: RunHead, agent: str, to: int | None, report: Report, milliseconds: float
) -> dict[str, object]:
    """The documented shape."""
    made = report_to_json(report)
    return {
        "run_id": head.run_id,
        "agent": agent,
        "to": to,
        "milliseconds": round(milliseconds, 1),
        "same": report.same,
        "served": made.pop("served"),
        "steps": head.steps,
        **made,
    }


def _lines(head: RunHead, report: Report, milliseconds: float, *, printed: bool) -> Iterator[str]:
    yield " ".join(part for part in (head.name, f"{head.run_id.hex[:8]},", "recorded:", head.status) if part)
    took = f"in {milliseconds:,.0f} ms"
    if report.divergence is not None:
        yield sentence(report.divergence)
        yield from _sides(report.divergence)
    elif report.refused is not None:
        yield report.refused
    else:
        yield f"{report.served} of {head.steps} steps, the same, {took}{_why(report)}"
    if not report.same:
        yield f"{report.served} of {head.steps} steps until then, {took}{_after(report)}"
    yield from _beside(report, printed=printed)


def _beside(report: Report, *, printed: bool) -> Iterator[str]:
    yield from (f"note: {note}" for note in report.notes)
    text = [*clean_lines(report.output.removesuffix("\n"))] if report.output else []
    if text and not printed:
        if report.output.endswith(NOT_KEPT):
            yield f"it printed more than {size(MOST)}; --output shows the beginning"
        else:
            yield f"it printed {len(text)} line{'s'[: len(text) != 1]}; --output shows them"
    elif text:
        yield "OUTPUT"
        yield from text


def _why(report: Report) -> str:
    return f"; stopped: {report.stopped}" if report.stopped is not None else ""


def _after(report: Report) -> str:
    if report.last is None:
        return ""
    return f"; the last, step {report.last}{'' if report.place is None else f', at {_seen(report.place)}'}"


def _sides(found: Divergence) -> Iterator[str]:
    text = explained(found)
    return iter(text.splitlines())


def _seen(place: Line) -> str:
    here = os.path.join(os.getcwd(), "")
    return str(place).removeprefix(here)
