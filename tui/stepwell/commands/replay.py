"""`stepwell replay RUN --to N`: the world as it was at one step, replayed and rolled back."""

import argparse
from collections.abc import Iterator, Mapping

from stepwell.app.present.figures import count
from stepwell.commands import changes, rerun
from stepwell.commands.output import brief, emit, line
from stepwell.commands.session import address_of, opened, step_at, target_of
from stepwell.commands.words import IN_DOUBT, NO_OUTPUT, flags, short_error, why
from stepwell.core.address import parse_target
from stepwell.core.past import Instant, StepChanges
from stepwell.core.state import path_text
from stepwell.core.steps import RunHead
from stepwell.core.world import MISSING, SHARED, Change, Moment, World
from stepwell.errors import UsageError
from stepwell.replay import Replayer
from stepwell.replay.values import recorded

BRIEF = 160
"""Characters of a value that the summary for people shows."""
JSON_HELP = """\
with --json, one object:
  run_id, step, type, name, agent
  moment     "asked" or "after"
  clock      an ISO 8601 time or null
  states     a list of {"scope", "state", "set_at"}: scope is an agent's name,
             null in a run of one agent, or "(shared)"; set_at maps each key of
             the state to the step that last changed it
  changed    what this step did to the state: a list of {"scope", "path", "old",
             "new"}; a side that was not there is left out
  last       a list of {"agent", "response", "result"}, the newest answers of
             model and tools: each {"step", "output", "error"} or null
  running    numbers of the other steps under way then
  unfinished numbers of the other steps begun by then that never got an outcome,
             in a run that has ended
  odd        steps that are no proper state update, number to reason
  tokens_in, tokens_out
             so far, null where none are recorded
  snapshots  {"before", "after"}: what the database's snapshot was before the
             step's call and after it, as pg_snapshot writes it, or null
  tables     what changed in each watched table between these two: a list of
             {"schema", "name", "certainty", "why", "changes", "more", "least"};
             changes is a list of {"key", "old", "new", "who", "pid", "mine"}:
             old and new are rows, column to text, null for none; a text that
             is cut, for so many are so long, ends in its length and a hash;
             mine is whether the agent's own connection wrote it, null where
             that is not known; more counts the other rows that were written,
             and there may be more where least is true; null with --asked
  replay     {"isolation", "milliseconds", "steps", "state_steps", "ordered_by",
             "retries", "notes", "rolled_back"}: how this world was read

"""
JSON_HELP += rerun.JSON_HELP


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the beginning of a run's id, @failed, @last, or RUN:17")
    parser.add_argument("--to", metavar="N", help="17, 50%%, @11:42 or @+90s; the last step by default")
    parser.add_argument("--asked", action="store_true", help="the world when the step began, not after it")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    rerun.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the world. Raises NotFoundError for no such run or step, and UsageError."""
    rerun.check(args)
    address = address_of(args.run)
    if address.path is not None:
        raise UsageError("replay shows a whole world; a path goes with show")
    if args.to and address.step is not None:
        raise UsageError(f"one step: either {args.run} or --to {args.to}")
    if args.agent is not None:
        return rerun.run(args)
    place = parse_target(args.to) if args.to else address.step
    moment = Moment.ASKED if args.asked else Moment.AFTER
    with opened(target_of(args), address.run) as (head, replayer):
        world = replayer.at(step_at(head, replayer, place).number, moment)
        last = _answers(replayer, world)
        tables = replayer.changes(world.number) if moment is Moment.AFTER else None
    if args.json:
        emit(as_json(head, world, last, tables))
        return 0
    for text in _lines(head, world, last, tables):
        line(text)
    return 0


Answers = list[dict[str, object]]


def _answers(replayer: Replayer, world: World) -> Answers:
    def answer(number: int | None) -> dict[str, object] | None:
        if number is None:
            return None
        payload = replayer.payload(number)
        return {
            "step": number,
            "output": recorded(payload.output, payload.output_exact),
            "error": _error(payload.error),
        }

    return [
        {"agent": agent, "response": answer(last.response), "result": answer(last.result)}
        for agent, last in world.last.items()
    ]


def _error(text: str | None) -> str | None:
    """`Type: message` of what the error column holds."""
    error = recorded(text, None)
    if not isinstance(error, dict):
        return None if error is None else brief(error)
    return ": ".join(str(error[key]) for key in ("type", "message") if error.get(key) not in (None, ""))


def as_json(head: RunHead, world: World, last: Answers, tables: StepChanges | None) -> dict[str, object]:
    """The documented shape of a world."""
    replay = world.replay
    running, unfinished = _under_way(head, world)
    return {
        "run_id": world.run_id,
        "step": world.number,
        "moment": world.moment.value,
        "type": world.step.type,
        "name": world.step.name,
        "agent": world.step.agent,
        "clock": world.clock,
        "states": [
            {"scope": scope, "state": state, "set_at": world.set_at.get(scope, {})}
            for scope, state in world.states.items()
        ],
        "changed": [_change(change) for change in world.changed],
        "last": last,
        "running": running,
        "unfinished": unfinished,
        "odd": world.odd,
        "tokens_in": world.tokens_in,
        "tokens_out": world.tokens_out,
        "snapshots": {"before": _snapshot(world.before), "after": _snapshot(world.after)},
        "tables": changes.as_json(tables),
        "replay": {
            "isolation": replay.isolation,
            "milliseconds": round(replay.milliseconds, 1),
            "steps": replay.steps,
            "state_steps": replay.state_steps,
            "ordered_by": replay.ordered_by,
            "retries": replay.retries,
            "notes": replay.notes,
            "rolled_back": replay.rolled_back,
        },
    }


def _under_way(head: RunHead, world: World) -> tuple[list[int], list[int]]:
    """Which other steps ran then, and which have no outcome and will not get one."""
    if head.status == "running":
        return sorted([*world.running, *world.unfinished]), []
    return list(world.running), list(world.unfinished)


def _snapshot(instant: Instant | None) -> str | None:
    return None if instant is None else instant.snapshot


def _change(change: Change) -> dict[str, object]:
    sides = {"old": change.old, "new": change.new}
    there = {side: value for side, value in sides.items() if value is not MISSING}
    return {"scope": change.scope, "path": path_text(change.path), **there}


def _lines(head: RunHead, world: World, last: Answers, tables: StepChanges | None) -> Iterator[str]:
    step = world.step
    yield " ".join(part for part in (head.name, head.run_id.hex[:8], head.status, why(head)) if part)
    when = f", {world.clock.isoformat()}" if world.clock else ""
    title = " ".join(part for part in (step.type, step.name, step.agent and f"({step.agent})") if part)
    stands_out = "".join(f", {flag}" for flag in flags(step, head, None))
    yield f"{world.moment.value} step {world.number} of {head.steps}: {title}{stands_out}{when}"
    for scope, state in world.states.items():
        yield ""
        yield f"state{_of(scope)}"
        yield from _state_lines(state, world.set_at.get(scope, {}))
    if world.changed:
        yield ""
        yield "changed by this step"
        yield from (f"  {path_text(c.path)}  {_short(c.old)} -> {_short(c.new)}" for c in world.changed)
    if told := list(changes.lines(tables)):
        yield ""
        yield from told
    yield ""
    for row in last:
        for title, answer in (("last response", row["response"]), ("last result", row["result"])):
            if isinstance(answer, dict):
                yield f"{title}{_of(row['agent'])}, step {answer['step']}: {_told(answer)}"
    running, unfinished = _under_way(head, world)
    yield f"still running: {', '.join(map(str, running)) or 'nothing'}"
    if unfinished:
        yield f"{IN_DOUBT if head.recorded else NO_OUTPUT}: {', '.join(map(str, unfinished))}"
    yield from (f"step {number}: {reason}" for number, reason in world.odd.items())
    if world.tokens_in is not None or world.tokens_out is not None:
        yield f"tokens so far: {count(world.tokens_in or 0)} in, {count(world.tokens_out or 0)} out"
    yield _truth(world)


def _told(answer: dict[str, object]) -> str:
    error = answer["error"]
    return f"raised {short_error(error)}" if isinstance(error, str) else _short(answer["output"])


def _of(scope: object) -> str:
    return "" if scope is None else f" {scope}" if scope == SHARED else f" of {scope}"


def _state_lines(state: object, set_at: Mapping[str, int]) -> Iterator[str]:
    if not isinstance(state, dict):
        yield f"  {_short(state)}"
        return
    width = max((len(str(key)) for key in state), default=0)
    for key, value in state.items():
        since = f"  (set at {set_at[key]})" if key in set_at else ""
        yield f"  {key!s:<{min(width, 24)}}  {_short(value)}{since}"


def _short(value: object) -> str:
    if value is MISSING:
        return "nothing"
    text = brief(value)
    return text if len(text) <= BRIEF else f"{text[:BRIEF]}... ({count(len(text))} characters)"


def _truth(world: World) -> str:
    """How the world was read: never more than was done."""
    replay = world.replay
    parts = [
        f"{replay.steps} steps replayed, {replay.state_steps} folded into the state",
        f"{replay.milliseconds:.1f} ms",
        replay.isolation,
        "rolled back" if replay.rolled_back else "not rolled back",
        f"in the order of {'finishing' if replay.ordered_by == 'finish' else 'step numbers'}",
        *replay.notes,
    ]
    return ", ".join(parts)
