"""`stepwell fork RUN:STEP OUTPUT`: a branch of a run in which a step gave something else."""

import argparse
from collections.abc import Iterator
from itertools import islice
from uuid import UUID

from stepwell.commands.given import add_text, text_of
from stepwell.commands.output import brief, emit, line, note
from stepwell.commands.session import address_of, opened, step_at, target_of
from stepwell.core.address import Path, resolve_path, short_id
from stepwell.core.branching import Tail, tail_of
from stepwell.core.edits import read
from stepwell.core.flow import Stale
from stepwell.core.recorded import RecordedRun
from stepwell.core.state import apply, path_text
from stepwell.core.whatif import WhatIf, editable, what_if
from stepwell.core.world import MISSING, SHARED
from stepwell.errors import UsageError
from stepwell.replay.recorded import load
from stepwell.replay.whatif import save

OUTPUT, STATE = "output", "state"
MOST_SHOWN = 10
BRIEF = 80
USAGE = """\
%(prog)s [-h] [--name NAME] [--dry-run] [--json] [--dsn DSN]
                     ADDRESS (OUTPUT | -f FILE)"""
JSON_HELP = """\
ADDRESS is RUN:STEP, or RUN:STEP:$.output[0].id for a part of the output. A step
that recorded a state has that instead: RUN:STEP:$.state.plan. OUTPUT is JSON; a
text needs its quotes.

The branch has the steps of the run before this one, this one with the new
output, and the steps after it up to the first that is stale: whose recorded
input held what the old output said. From there on nobody knows what the agent
would have done. A short value inside of another text is taken for chance. The
branch is read like any run; the run that it leaves stays as it is.

with --json, one object:
  run_id      of the branch; null with --dry-run
  parent, forked_at
              the run that it leaves, and at which step
  steps       the number of its last step
  stale       the steps whose input depended on the old output, in order, also
              by way of each other: a list of {"step", "path", "from", "part",
              "how"}: path is in its input, from is the step that gave that and
              part where in its output, of a state step either in the state; how
              is "result", "reply", "call" (the reply asked for this tool call)
              or "state"
  unsettled   steps around those, of which it is not known what they would give
  odd         state steps that do not fit the state before them, number to why
  states      as of its last step: a list of {"scope", "state"}
  plain       objects of the output that are plain data in the branch: a list of
              {"path", "type"}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="RUN:17, or RUN:17:$.output.path for a part")
    parser.usage = USAGE
    add_text(parser, "output", "OUTPUT", "what the step gives, as JSON")
    parser.add_argument("--name", metavar="NAME", help="of the branch; that of the run by default")
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be stale; nothing is stored"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Save the branch and say what is stale. Raises NotFoundError, UsageError and DatabaseError."""
    if args.name == "":
        raise UsageError("--name is empty; without it the branch has the name of the run")
    address = address_of(args.address)
    if address.step is None:
        raise UsageError(f"which step? stepwell fork {address.run}:17 OUTPUT")
    value = read(text_of(args.output, args.file, "output"))
    target = target_of(args)
    with opened(target, address.run) as (head, replayer):
        number = step_at(head, replayer, address.step).number
    found = load(target, str(head.run_id))
    made = what_if(found, number, _whole(found, number, address.path, value))
    if made.unchanged:
        raise UsageError(f"that is what step {number} gave: nothing would be otherwise")
    tail = tail_of(made)
    branch = None if args.dry_run else save(target, head.run_id, tail, args.name)
    if args.json:
        emit(as_json(made, tail, branch))
        return 0
    for text in _lines(made, tail, branch):
        line(text)
    for path, kind in made.plain:
        note(f"{path} is plain data from now on; it was a {kind}")
    return 0


def _whole(run: RecordedRun, number: int, path: Path | None, value: object) -> object:
    """What the step gives as a whole. Raises NotFoundError for a part that is not there, and UsageError."""
    if path is None:
        return value
    old = editable(run, number)
    is_state = run.by_number[number].type == "state_update"
    root = STATE if is_state else OUTPUT
    if path[:1] != (root,):
        raise UsageError(f"{path_text(path)} cannot be otherwise: a path begins with $.{root} here")
    if len(path) == 1:
        return value
    where = _exactly({root: old if old is not MISSING else None}, path)
    resolve_path({root: old}, where[:-1])
    changed = apply({root: old}, {"set": list(where), "to": value})
    assert isinstance(changed, dict)
    return changed[root]


def _exactly(value: object, path: Path) -> Path:
    """The path with indexes from the end as those from the beginning."""
    found: list[str | int] = []
    for part in path:
        here = resolve_path(value, found)
        if isinstance(part, int) and part < 0 and isinstance(here, list):
            found.append(len(here) + part)
        else:
            found.append(part)
        if not (isinstance(here, dict) and isinstance(part, str)) or part in here:
            resolve_path(value, found)
    return tuple(found)


def as_json(made: WhatIf, tail: Tail, branch: UUID | None) -> dict[str, object]:
    """The documented shape of a branch."""
    return {
        "run_id": branch,
        "parent": made.run.head.run_id,
        "forked_at": made.number,
        "steps": tail.steps,
        "stale": [_stale(each) for each in made.stale],
        "unsettled": made.unsettled,
        "odd": made.odd(tail.steps),
        "states": [{"scope": scope, "state": state} for scope, state in made.states(tail.steps).items()],
        "plain": [{"path": path, "type": kind} for path, kind in made.plain],
    }


def _stale(stale: Stale) -> dict[str, object]:
    return {
        "step": stale.number,
        "path": stale.path,
        "from": stale.source,
        "part": stale.part,
        "how": stale.how.value,
    }


def _lines(made: WhatIf, tail: Tail, branch: UUID | None) -> Iterator[str]:
    parent = short_id(made.run.head.run_id)
    if branch is None:
        yield f"a branch of {parent} at step {made.number} would have the steps 1-{tail.steps}"
    else:
        yield f"{branch}  leaves {parent} at step {made.number}; it has the steps 1-{tail.steps}"
    first = made.stale_from
    if first is None:
        yield "nothing is stale as far as can be told: what is other now stands in no later input, short values aside"
    else:
        yield f"stale from step {first.number}: {first.words}"
        for stale in made.stale[1 : MOST_SHOWN + 1]:
            yield f"      and step {stale.number}: {stale.words}"
        if len(made.stale) > MOST_SHOWN + 1:
            yield f"      and {len(made.stale) - MOST_SHOWN - 1} more, the last is step {made.stale[-1].number}"
    for number in made.unsettled:
        yield f"step {number}, around that, has no output"
    yield from islice(_state_lines(made, tail), 2 * MOST_SHOWN)
    yield from (f"step {number}: {reason}" for number, reason in made.odd(tail.steps).items())


def _state_lines(made: WhatIf, tail: Tail) -> Iterator[str]:
    """What is other in the states as of the last step of the branch."""
    for change in made.changed_states(tail.steps):
        scope = change.scope
        of = "" if scope is None else f" {scope}" if scope == SHARED else f" of {scope}"
        sides = f"{_short(change.old)} -> {_short(change.new)}"
        yield f"state{of} at step {tail.steps}: {path_text(change.path)}  {sides}"


def _short(value: object) -> str:
    text = "nothing" if value is MISSING else brief(value)
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 3]}..."
