"""From an address to a running app, and from its end to an exit status."""

import sys

from stepwell.app.app import StepwellApp
from stepwell.app.memory import Memory
from stepwell.app.present import clean
from stepwell.app.screens.replaying import Start
from stepwell.core.address import parse_address
from stepwell.replay.runs import Runs
from stepwell.settings import paths
from stepwell.store.connect import Target


def run_app(target: Target, address: str | None) -> int:
    """Look at the database first, so that what is wrong is told on a terminal that still scrolls."""
    app = StepwellApp(target, Memory(paths().state), _start(target, address))
    status = app.run(mouse=False)
    if app.last_words:
        print(f"stepwell: {clean(app.last_words)}", file=sys.stderr)  # noqa: T201 - the app is over
    return app.return_code or 0 if status is None else status


def _start(target: Target, text: str | None) -> Start | None:
    runs = Runs(target)
    try:
        if text is None:
            runs.page(1)
            return None
        address = parse_address(text)
        return Start(runs.find(address.run), address)
    finally:
        runs.close()
