"""A value of 200 MB on the screen: read, shown to its end, searched and copied, in a few times its memory."""

import threading
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from stepwell.app.geometry import Pane
from stepwell.settings import paths
from tests.app.stepping import Debugging, debug
from tests.store.rows import add_run, run_id

pytestmark = pytest.mark.long

SIZE = 200_000_000
PART = "SELECT string_agg(md5(n::text), E'\\n') FROM generate_series(1, 3030) AS n"
"""100,000 characters that do not compress to nothing."""


class MostMemory(threading.Thread):
    """Bytes that this process takes at most while it runs, above what it took before."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self._over = threading.Event()

    def __enter__(self) -> "MostMemory":
        self._before = self._now()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.wait(0.01):
            self.most = max(self.most, self._now() - self._before)

    @staticmethod
    def _now() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.fixture
def run(schema_dsn: str) -> UUID:
    """A run whose only step gave 200 MB, put together by the server."""
    run = add_run(schema_dsn, run_id(0xB16), steps=1, finished=1, status="ok")
    with psycopg.connect(schema_dsn) as connection:
        connection.execute(
            "INSERT INTO agent_steps (run_id, step_number, step_type, input, output)"
            f" SELECT %s, 1, 'tool_call', '{{}}', to_jsonb(repeat(({PART}), %s) || 'the END')",
            [run, SIZE // 100_000],
        )
    return run


def test_a_value_of_200_megabytes_is_read_shown_searched_and_copied(schema_dsn: str, run: UUID) -> None:
    async def patiently(debugger: Debugging, typed: str) -> None:
        """Press keys, and wait as long as a busy server may take."""
        await debugger.send(typed)
        for _ in range(2000):
            await debugger.pilot.pause(0.05)
            if debugger.screen.settled and not debugger.screen.board.lines(Pane.OUTPUT).seeking:
                return
        raise AssertionError(debugger.text)

    async def act(debugger: Debugging) -> None:
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] not read")
        await patiently(debugger, "x")
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] 206.0 MB")
        await patiently(debugger, ">")
        assert debugger.rows(Pane.OUTPUT)[-1].endswith('the END"')
        await patiently(debugger, "<")
        assert debugger.rows(Pane.OUTPUT)[0].startswith('"c4ca4238a0b923820dcc')
        await patiently(debugger, "z")
        await patiently(debugger, "Y")
        assert "written as stored to" in debugger.status
        assert (paths().state / "copied.txt").stat().st_size > SIZE
        await patiently(debugger, "/the end<enter>")
        assert "hit 1 of 1" in debugger.status
        assert debugger.rows(Pane.OUTPUT)[-1].endswith('the END"')

    with MostMemory() as memory:
        debug(schema_dsn, run, act)
    assert SIZE < memory.most < 5 * SIZE
