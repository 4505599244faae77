"""From an address to a running app, and from its end to an exit status."""

import codecs
import gc
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from stepwell.app.app import StepwellApp
from stepwell.app.memory import Memory
from stepwell.app.mover import Mover
from stepwell.app.present import clean
from stepwell.app.present.text import in_as_many_cells
from stepwell.app.rerun import Agent
from stepwell.app.screens.replaying import Start
from stepwell.core.address import parse_address
from stepwell.replay.runs import Runs
from stepwell.settings import paths
from stepwell.store.connect import Target


def run_app(target: Target, address: str | None, agent: Agent | None = None) -> int:
    """Look at the database first, so that what is wrong is told on a terminal that still scrolls."""
    if agent is not None:
        from stepwell.app.runner import check  # of no use without one

        check(agent)
    app = StepwellApp(target, Memory(paths().state), _start(target, address), agent)
    app.on_terminal = True
    _spare_keys()
    with _written_by_cells(sys.__stderr__):
        status = app.run(mouse=False)
    if app.last_words:
        print(f"stepwell: {clean(app.last_words)}", file=sys.stderr)  # noqa: T201 - the app is over
    return app.return_code or 0 if status is None else status


def _spare_keys() -> None:
    """Have Python look for garbage seldom, and not in what is loaded by now: that held up a key for 50 ms at times."""
    gc.freeze()
    gc.set_threshold(10_000)


@contextmanager
def _written_by_cells(terminal: TextIO | None) -> Iterator[None]:
    """Where the terminal's language lacks a character, something else in as many cells is written.

    What Textual writes goes to standard error, and escapes there would push aside what is right of them.
    """
    if not isinstance(terminal, io.TextIOWrapper):
        yield
        return
    codecs.register_error("stepwell.cells", in_as_many_cells)
    before = terminal.errors or "strict"
    terminal.reconfigure(errors="stepwell.cells")
    try:
        yield
    finally:
        with suppress(OSError):  # it writes what is left, and the terminal may have gone
            terminal.reconfigure(errors=before)


def _start(target: Target, text: str | None) -> Start | None:
    runs = Runs(target)
    try:
        if text is None:
            runs.page(1)
            return None
        address = parse_address(text)
        run = runs.find(address.run)
    finally:
        runs.close()
    mover = Mover(target, run.run_id)
    mover.begin()
    return Start(run, address, first=True, mover=mover)
