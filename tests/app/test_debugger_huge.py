"""Values too large to be read on each move: said, read on demand, and no hindrance to a step past them."""

import pytest

from stepwell.app.geometry import Pane
from stepwell.core.world import Moment
from stepwell.replay import Replayer, replayer
from stepwell.store.connect import resolve
from tests.app.recorded import BIG
from tests.app.stepping import Debugging, debug


@pytest.fixture(autouse=True)
def too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 10 MB of the run take some 115 KB as they are stored."""
    monkeypatch.setattr(replayer, "MOST_STORED", 50_000)


def test_a_move_leaves_a_value_of_many_megabytes_alone(recorded_dsn: str) -> None:
    replays = Replayer(resolve(recorded_dsn), BIG)
    world = replays.at(1)
    assert (world.payload.output, world.step.has_output, world.payload.input_unread) == (None, True, None)
    assert world.payload.output_unread is not None
    assert 50_000 < world.payload.output_unread < 500_000
    assert world.payload.input == '{"path": "/var/log/lamps"}'
    whole = replays.at(1, Moment.AFTER, whole=True)
    assert whole.payload.output_unread is None
    assert whole.payload.output is not None
    assert len(whole.payload.output) > 9_000_000
    replays.close()


def test_what_was_not_read_is_said_and_x_reads_it(recorded_dsn: str) -> None:
    async def act(debugger: Debugging) -> None:
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] not read")
        said = " ".join(debugger.rows(Pane.OUTPUT))
        assert "KB compressed: too large to be read on each move" in said
        assert "stepwell show 0b16:1 prints it" in said
        await debugger.send("x")
        await debugger.until(lambda: debugger.view.unread is None)
        assert debugger.rows(Pane.OUTPUT)[0].startswith('"0123456789 0123456789')
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] 10.0 MB, as stored")
        assert debugger.view.message == ""

    debug(recorded_dsn, BIG, act)


@pytest.mark.parametrize("key", ["Y", "v"])
def test_what_was_not_read_is_read_before_it_is_copied_or_paged(recorded_dsn: str, key: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.send(key)
        await debugger.until(lambda: debugger.view.unread is None)
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] 10.0 MB, as stored")

    debug(recorded_dsn, BIG, act)
