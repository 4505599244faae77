"""`stepwell steps RUN`: the steps of a run, without what they were given and gave."""

import argparse

from stepwell.app.present.figures import duration
from stepwell.commands.output import LONGEST, Column, emit, line, note, table
from stepwell.commands.session import opened, run_address, target_of
from stepwell.commands.words import flags, raised, short_error, tokens
from stepwell.core.outline import Outline
from stepwell.core.steps import RunHead, StepHead

COLUMNS = (
    Column("STEP", right=True),
    Column("TYPE", elastic=True, most=LONGEST),
    Column("NAME", elastic=True, most=LONGEST),
    Column("AGENT", elastic=True, most=LONGEST),
    Column("TOOK", right=True),
    Column("TOKENS"),
    Column("FLAGS"),
    Column("ERROR", elastic=True),
)
JSON_HELP = """\
with --json, one object a line:
  run_id, step    the whole id and the step's number
  type, name, agent, parent, seed, finish_reason, error
                  as recorded, null where they are not
  started, finished, created
                  ISO 8601 times or null
  seconds         how long it took, or null
  tokens_in, tokens_out
                  of a model call, or null
  has_output      false for a step that raised, is in doubt or still runs
  flags           of "error", "running", "in doubt", "lap N", and "no output"
                  where the step was imported or written by hand
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the beginning of a run's id, @failed or @last")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Print the steps. 1 where the run has none. Raises NotFoundError, UsageError."""
    address = run_address(args.run, "steps")
    with opened(target_of(args), address.run) as (head, replayer):
        outline = Outline(replayer.heads(), running=head.status == "running")
    if not outline.steps:
        note(f"run {str(head.run_id)[:8]} has no steps{raised(head)}")
        return 1
    if args.json:
        for index, step in enumerate(outline.steps):
            emit(as_json(step, head, flags(step, head, outline.place(index))))
        return 0
    rows = [_row(step, flags(step, head, outline.place(index))) for index, step in enumerate(outline.steps)]
    for text in table(COLUMNS, rows):
        line(text)
    return 0


def _row(step: StepHead, words: list[str]) -> list[str]:
    return [
        str(step.number),
        step.type,
        step.name or "",
        step.agent or "",
        duration(step.duration),
        tokens(step),
        ", ".join(words),
        short_error(step.error or ""),
    ]


def as_json(step: StepHead, run: RunHead, words: list[str]) -> dict[str, object]:
    """The documented shape of a step."""
    took = step.duration
    return {
        "run_id": run.run_id,
        "step": step.number,
        "type": step.type,
        "name": step.name,
        "agent": step.agent,
        "parent": step.parent,
        "seed": step.seed,
        "started": step.started,
        "finished": step.finished,
        "created": step.created,
        "seconds": None if took is None else took.total_seconds(),
        "tokens_in": step.tokens_in,
        "tokens_out": step.tokens_out,
        "finish_reason": step.finish_reason,
        "has_output": step.has_output,
        "error": step.error,
        "flags": words,
    }
