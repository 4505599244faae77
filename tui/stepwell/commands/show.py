"""`stepwell show ADDRESS`: what one step was given and gave, whole or a part of it."""

import argparse

from stepwell.app.panes.sight import sight_of
from stepwell.app.present.figures import count, duration
from stepwell.commands import steps
from stepwell.commands.output import emit, line, pretty
from stepwell.commands.session import address_of, opened, step_at, target_of
from stepwell.commands.words import flags, tokens
from stepwell.core import codec
from stepwell.core.address import Address, Number, resolve_path
from stepwell.core.sight import How
from stepwell.core.steps import RunHead, StepHead
from stepwell.core.world import World
from stepwell.errors import UsageError
from stepwell.replay.values import recorded

JSON_HELP = """\
A path begins at the object that --json prints: $.input.messages[0], $.output.
Without --json a text is printed as it is, anything else as indented JSON, and
control characters are spelled out.

with --json, one object: that of `stepwell steps --json` (laps are told by steps
only), and
  address          RUN:STEP, to give to any command
  input, output    as recorded; output is null also where has_output is false
  problem          why input is only a part of a long prompt, in words; or null
  redacted         {"input", "output"}: names that what the recorder was told to
                   leave out stands under, "a text" without one
  seen             of a tool's output, {"step", "how", "characters", "of"}: how
                   it stands in the next prompt ("whole", "cut", "other form",
                   "not found") and, of the first two, how much; or null
With a path, {"address", "value"}. Numbers keep all their digits; NaN and
infinities are strings; what is nested too deeply to be read is its JSON text.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="RUN:17, @failed:50%%, RUN:17:$.output.choices[0]")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print a step. Raises NotFoundError for no such run, step or path, and UsageError."""
    address = address_of(args.address)
    if address.step is None:
        raise UsageError(f"which step of {address.run}? stepwell show {address.run}:17")
    with opened(target_of(args), address.run) as (head, replayer):
        world = replayer.at(step_at(head, replayer, address.step).number, whole=True)
    value = as_json(world, head)
    if address.path is not None:
        here = Address(head.run_id.hex, Number(world.number), address.path)
        part = resolve_path(value, address.path)
        if args.json:
            emit({"address": str(here), "value": part})
        else:
            _print(part)
    elif args.json:
        emit(value)
    else:
        _print_step(world.step, head, value)
    return 0


def as_json(world: World, run: RunHead) -> dict[str, object]:
    """The documented shape of a step with its payload."""
    step, payload = world.step, world.payload
    output = recorded(payload.output, payload.output_exact)
    return {
        "address": str(Address(run.run_id.hex, Number(step.number))),
        **steps.as_json(step, run, flags(step, run, None)),
        "input": recorded(payload.input, payload.input_exact),
        "output": output,
        "problem": payload.problem,
        "redacted": {
            "input": _redacted(payload.input_exact),
            "output": _redacted(payload.output_exact),
        },
        "seen": _seen(world),
    }


def _redacted(exact: str | None) -> list[str]:
    """Names that what was left out stands under."""
    if exact is None or '"redacted"' not in exact:
        return []
    return [name or "a text" for name in codec.redacted_names(codec.parse(exact))]


def _redacted_words(found: object) -> str:
    """`password in the input; token in the output`"""
    parts = found.items() if isinstance(found, dict) else ()
    return "; ".join(f"{', '.join(names)} in the {where}" for where, names in parts if names)


def _seen(world: World) -> dict[str, object] | None:
    sight = sight_of(world)
    if sight is None:
        return None
    characters = sight.seen if sight.whole or sight.cut else None
    return {"step": sight.number, "how": sight.how, "characters": characters, "of": sight.length}


def _seen_words(found: object) -> str | None:
    """`2,048 of 12,375 characters stand in the next prompt, step 6`"""
    if not isinstance(found, dict):
        return None
    where = f"in the next prompt, step {found['step']}"
    match found["how"]:
        case How.ABSENT:
            return f"not found {where}, as it was or in other forms of JSON"
        case How.REWORDED:
            return f"not verbatim {where}"
    return f"{count(found['characters'])} of {count(found['of'])} characters stand {where}"


def _print_step(step: StepHead, run: RunHead, value: dict[str, object]) -> None:
    facts = {
        "run": " ".join(part for part in (str(run.run_id), run.name, f"({run.status})") if part),
        "step": f"{step.number} of {run.steps}",
        "type": step.type,
        "name": step.name,
        "agent": step.agent,
        "inside": f"step {step.parent}" if step.parent is not None else None,
        "started": step.started and step.started.isoformat(),
        "took": duration(step.duration),
        "tokens": tokens(step),
        "finish": step.finish_reason,
        "seed": step.seed,
        "seen": _seen_words(value["seen"]),
        "redacted": _redacted_words(value["redacted"]),
        "flags": ", ".join(flags(step, run, None)),
        "error": step.error,
        "problem": value["problem"] and f"the input below is {value['problem']}",
    }
    for title, fact in facts.items():
        if fact not in (None, ""):
            line(f"{title:<8} {fact}")
    line()
    line("INPUT")
    _print(value["input"])
    if step.has_output:
        line()
        line("OUTPUT")
        _print(value["output"])


def _print(value: object) -> None:
    for text in pretty(value):
        print(text)
