"""The jobs of the debugger's worker: open a run, move in it, search it, look for what a live run has gained."""

import os
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import Future
from uuid import UUID

from textual.message import Message

from stepwell.app.clipboard import copy_to_file
from stepwell.app.messages import Changed, Found, Grown, Moved, Opened, Resolved, Written
from stepwell.app.pane_text import is_stored_only, value_pieces
from stepwell.app.panes.sight import sight_of
from stepwell.app.present import dumps
from stepwell.app.supposer import Supposer
from stepwell.app.view import View
from stepwell.core.address import Path, resolve_path
from stepwell.core.heads import Heads
from stepwell.core.liveness import GLANCE_SECONDS
from stepwell.core.state import path_text
from stepwell.core.steps import RunHead
from stepwell.core.whatif import WhatIf
from stepwell.core.world import Moment, World
from stepwell.errors import StepwellError
from stepwell.replay import Replayer
from stepwell.replay.values import recorded
from stepwell.settings import paths
from stepwell.store.connect import Target
from stepwell.store.pulses import Pulse

POLL_SECONDS = (0.5, 0.5, 0.5, 1.0, 2.0, 5.0)
"""Pauses between looks at a live run, as long as nothing is new."""
POLLED = ("running", "died", "unknown")
"""Statuses of runs that may still grow: a died run may be resumed."""

LONGEST_VALUE = 1000
"""Characters of a value for the status line: more than a terminal is wide."""


class Mover:
    """Used by one worker thread only, except `cancel` and `interval`."""

    def __init__(self, target: Target, run_id: UUID, clock: Callable[[], float] = time.perf_counter) -> None:
        self._replayer = Replayer(target, run_id, clock)
        self.supposer = Supposer(target, run_id)
        self.what_if: WhatIf | None = None
        """What the worlds of moves are of."""
        self._run: RunHead | None = None
        self._steps = Heads.of(())
        self._cancelled = threading.Event()
        self._begun: Future[Opened] | None = None
        self._quiet = 0
        self._due = 0.0
        """When to look closely again, also at a run that seems to be as it was."""

    def begin(self) -> None:
        """Open the run in the background, for `open` to wait for: while there is no screen yet."""
        self._begun = begun = Future[Opened]()
        threading.Thread(target=self._open_for, args=[begun], name="stepwell opening", daemon=True).start()

    def _open_for(self, begun: Future[Opened]) -> None:
        try:
            begun.set_result(self._open())
        except BaseException as problem:  # of any kind: `open`, which would wait for ever, raises it
            begun.set_exception(problem)

    def open(self) -> Opened:
        begun, self._begun = self._begun, None
        return self._open() if begun is None else begun.result()

    def _open(self) -> Opened:
        self._run = self._replayer.run()
        self._steps = self._replayer.heads(details=False)
        return Opened(self._run, self._steps, self._replayer.where(), self._replayer.caution)

    def move(self, number: int, moment: Moment, *, whole: bool = False) -> Moved:
        """`whole`: with payloads of any size."""
        world, what_if = self._replayer.at(number, moment, whole=whole), self.what_if
        _ = world.payload.problem  # has a prompt that is stored as a difference put together here
        if what_if is None:
            return Moved(world, sight_of(world))
        sight = sight_of(world) if number != what_if.number else None  # no prompt has what is edited
        return Moved(what_if.applied(world), sight, what_if)

    def changes(self, world: World) -> Changed:
        """What changed in watched tables during the step of a world, or why that cannot be read."""
        try:
            return Changed(world, self._replayer.changes(world.number))
        except StepwellError as problem:
            return Changed(world, str(problem))

    def changed_steps(self) -> Written:
        """Which steps changed watched tables. Raises DatabaseError."""
        return Written(self._replayer.changed_steps())

    def copy(self, view: View, world: World) -> Resolved:
        """The value of the chosen pane, which is long, into a file. `cancel` ends that."""
        self._cancelled.clear()
        pieces, stored = value_pieces(view, world), is_stored_only(view, world)
        words = copy_to_file(pieces, os.environ, paths().state, self._cancelled.is_set, stored=stored)
        return Resolved(world.number, words)

    def search(self, text: str) -> Found:
        return Found(text, self._replayer.search(text))

    def resolve(self, world: World, path: Path) -> Resolved:
        """What `path` names in the step's `{"input": …, "output": …}`. Raises NotFoundError."""
        payload = world.payload
        given = recorded(payload.input, payload.input_exact)
        gave = recorded(payload.output, payload.output_exact)
        part = resolve_path({"input": given, "output": gave}, path)
        return Resolved(world.number, f"{path_text(path)} = {dumps(part)[:LONGEST_VALUE]}")

    def poll(self) -> Message | None:
        """What is new since the last look; None for nothing."""
        if self._run is None or self._is_as_it_was(self._run):
            return None
        self._due = time.monotonic() + self._pause()
        run, steps = self._replayer.run(), self._steps
        new, updated = self._news(steps)
        if not new and not updated and run.status == self._run.status:
            self._quiet += 1
            self._run = run
            return None
        self._quiet = 0
        self._run = run
        growth = steps.grown(new, updated)
        self._steps = growth.heads
        self.supposer.forget()
        return Grown(run, growth, len(new), frozenset(updated.numbers))

    def _news(self, steps: Heads) -> tuple[Heads, Heads]:
        """The steps that are new, and those that have finished."""
        last = steps.numbers[-1] if steps else None
        alone, repeated = steps.unfinished
        found = self._replayer.heads(after=last, numbers=repeated, unfinished=alone, details=False)
        first_new = 0 if last is None else bisect_right(found.numbers, last)
        known = found[:first_new]
        changed = [known[place] for place, at in steps.places(known.numbers) if known[place] != steps[at]]
        return found[first_new:], Heads.of(changed)

    def interval(self) -> float | None:
        """Seconds until the next look, None where there is nothing to look for."""
        if self._run is None or self._run.status not in POLLED:
            return None
        return min(self._pause(), GLANCE_SECONDS) if self._run.status == "running" else self._pause()

    def _pause(self) -> float:
        return POLL_SECONDS[min(self._quiet, len(POLL_SECONDS) - 1)]

    def _is_as_it_was(self, run: RunHead) -> bool:
        """Whether that is seen at a glance, so that a close look can wait; rows written by hand show nothing so."""
        early = run.status == "running" and time.monotonic() < self._due
        return early and self._replayer.pulse() == Pulse.of(run)

    def cancel(self) -> None:
        self._cancelled.set()
        self._replayer.cancel()
        self.supposer.cancel()

    def close(self) -> None:
        self._replayer.close()
        self.supposer.close()
