"""The demo as someone who is not root, in a home that is closed to everyone else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.store.account import first_closed
from stepwell.store.binaries import locate
from tests.e2e.terminal import Terminal
from tests.store.conftest import NOBODY, Site, interpreter, make_site


@pytest.fixture
def site(short_folder: Path) -> Iterator[Site]:
    """A home of mode 0700, without a server so far."""
    uid = os.geteuid() or NOBODY
    if (
        closed := first_closed(Path(__file__).parent) or first_closed(locate())
    ) is not None and uid == NOBODY:
        pytest.skip(f"an ordinary user cannot pass {closed}; run the tests as one as well")
    site = make_site(uid, short_folder / "ordinary")
    yield site
    site.close()


def test_the_demo_opens_and_the_home_stays_closed(
    site: Site, env: dict[str, str], terminal_folder: Path
) -> None:
    python, libraries = interpreter(site.uid)
    own = {name: value for name, value in env.items() if not name.startswith(("XDG_", "STEPWELL_"))}
    own |= {"HOME": str(site.home), "PYTHONPATH": os.pathsep.join(libraries)}
    other = site.uid if site.uid != os.geteuid() else None
    if other is not None:
        os.chown(terminal_folder, site.uid, site.uid)
    debugger = Terminal(terminal_folder, [python, "-m", "stepwell", "demo"], own, user=other)
    try:
        debugger.wait_for("stepwell  5 runs", "> !failed", "newest first")
        debugger.type("Enter")
        debugger.wait_for("1/52 2% after", "FAILED MaxTurns  loop 24 laps from 5")
        debugger.type("bnq")
        debugger.wait_for("newest first")
        debugger.type("q")
        assert debugger.wait() == 0
    finally:
        debugger.close()
    assert site.home.stat().st_mode & 0o777 == 0o700
    memory = site.home / ".local/state/stepwell/memory.json"
    assert "gpt-5-mini" in memory.read_text()
    assert memory.stat().st_mode & 0o077 == 0
    assert {path.stat().st_uid for path in site.home.rglob("*")} == {site.uid}
