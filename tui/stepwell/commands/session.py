"""What the commands share: the database of the arguments, the run and the step of an address."""

import argparse
import re
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager

from stepwell.commands.output import note
from stepwell.commands.words import raised
from stepwell.core.address import Address, Number, parse_address
from stepwell.core.address import Target as Place
from stepwell.core.locate import NO_STEPS, locate
from stepwell.core.outline import Outline
from stepwell.core.steps import RunHead, StepHead
from stepwell.errors import NotFoundError, UsageError
from stepwell.replay import Replayer
from stepwell.replay.runs import Runs
from stepwell.store.connect import Target, resolve
from stepwell.store.migrate import ensure_schema

NO_STEP = 2**31 - 1


def target_of(args: argparse.Namespace) -> Target:
    """The database to work on; the embedded one gets its tables. Raises DatabaseError."""
    target = resolve(args.dsn)
    if target.notice:
        note(target.notice)
    if target.server is not None:
        ensure_schema(target)
    return target


def address_of(text: str) -> Address:
    """An address; what can be the name of a run instead is told how to find the run. Raises UsageError."""
    try:
        return parse_address(text)
    except UsageError as problem:
        name = text.partition(":")[0].strip()
        if not name or name.startswith(("@", "-", "$")) or re.fullmatch("[0-9a-fA-F-]+", name):
            raise
        raise UsageError(f"{problem}; find its id: stepwell runs {shlex.quote(name[:40])}") from None


def run_address(text: str, command: str) -> Address:
    """An address that names a whole run. Raises UsageError."""
    address = address_of(text)
    if address.step is not None or address.path is not None:
        raise UsageError(f"{command} takes a run, not a step: stepwell {command} {address.run}")
    return address


@contextmanager
def opened(target: Target, prefix: str) -> Iterator[tuple[RunHead, Replayer]]:
    """The run whose id begins so, and a replayer of it. Raises NotFoundError, UsageError, DatabaseError."""
    with closing(Runs(target)) as runs:
        run = runs.find(prefix)
    with closing(Replayer(target, run.run_id)) as replayer:
        yield run, replayer


def step_at(run: RunHead, replayer: Replayer, place: Place | None) -> StepHead:
    """The step at a place of the run, its last one by default. Raises NotFoundError."""
    if isinstance(place, Number) and place.number < NO_STEP:
        found = replayer.heads(after=NO_STEP, numbers=[place.number])
        if found:
            return found[0]
    outline = Outline(replayer.heads(), running=run.status == "running")
    if place is None and outline.steps:
        return outline.steps[-1]
    index, why = (None, NO_STEPS) if place is None else locate(run, outline, place)
    if index is None or why is not None:
        raise NotFoundError(f"{str(run.run_id)[:8]}: {why}{'' if outline.steps else raised(run)}")
    return outline.steps[index]
