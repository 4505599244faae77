"""Make the pictures that the README shows: the demo, recorded for real, driven by keys.

    python screenshots/capture.py

Records the demo into an embedded Postgres of its own, which is gone afterwards, and writes the SVGs beside
this file.
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stepwell.app.app import StepwellApp
from stepwell.app.memory import Memory
from stepwell.app.rerun import Agent
from stepwell.app.screens.replaying import Start
from stepwell.core.address import parse_address
from stepwell.demo import agent as demo_agent
from stepwell.demo.record import record_demo
from stepwell.replay.runs import Runs
from stepwell.store.connect import Target, resolve
from stepwell.store.migrate import ensure_schema

FOLDER = Path(__file__).parent
FIXED = "stepwell @failed --agent triage:looping"
PICTURES: tuple[tuple[str, str, tuple[int, int], str | None, Sequence[str]], ...] = (
    ("debugger", "stepwell @failed", (80, 24), "refund-triage", ("5", "g", "b", "n")),
    ("past", "stepwell RUN:5", (80, 24), "refund-approval", ("5", "g", "t")),
    ("runs", "stepwell", (80, 24), None, ()),
    ("swarm", "stepwell RUN:13", (120, 36), "refund-swarm", ("1", "3", "g")),
    ("divergence", FIXED, (80, 24), "refund-triage", ("6", "g", "D")),
)
"""Name, title, size, the run to open (None: the list), keys."""
PATIENCE_SECONDS = 20


async def picture(app: StepwellApp, title: str, size: tuple[int, int], keys: Sequence[str]) -> str:
    """The screen after these keys, as SVG."""
    async with app.run_test(size=size) as pilot:
        await _settle(app)
        for key in keys:
            await pilot.press(key)
            await _settle(app)
        await pilot.pause()
        return app.export_screenshot(title=title)


async def _settle(app: StepwellApp) -> None:
    """Wait until the screen shows what was asked for."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not getattr(app.screen, "settled", getattr(app.screen, "loaded", True)):
            await asyncio.sleep(0.02)


def _starts(target: Target) -> dict[str, Start]:
    """The newest run of each name."""
    runs = Runs(target)
    try:
        found = runs.page(20)
    finally:
        runs.close()
    return {run.name: Start(run, parse_address(str(run.run_id))) for run in reversed(found) if run.name}


def _fixed(folder: Path) -> str:
    """The demo's agent without its fault, in a folder where it is found."""
    source = Path(demo_agent.__file__).read_text()
    (folder / "triage.py").write_text(source.replace("TOOL_BUDGET = 512", "TOOL_BUDGET = 8192"))
    os.chdir(folder)
    return "triage:looping"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="stepwell-") as folder:
        os.chmod(folder, 0o711)
        os.environ["STEPWELL_HOME"] = f"{folder}/home"
        target = resolve(None, {"STEPWELL_HOME": f"{folder}/home", "HOME": folder})
        ensure_schema(target)
        record_demo(target, progress=print)
        starts = _starts(target)
        for name, title, size, run, keys in PICTURES:
            agent = Agent(_fixed(Path(folder))) if title == FIXED else None
            app = StepwellApp(target, Memory(Path(folder)), starts[run] if run else None, agent)
            svg = asyncio.run(picture(app, title, size, keys))
            (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
            print(f"wrote {name}.svg")


if __name__ == "__main__":
    main()
