"""Keys that come before there is anything to use them on."""

import threading
from collections.abc import Awaitable, Callable

import pytest

from stepwell.app.keyboard import MOST_EARLY
from stepwell.app.messages import Opened
from stepwell.app.mover import Mover
from stepwell.errors import DatabaseError
from stepwell.store.connect import resolve
from tests.app.recorded import LOOPING
from tests.app.stepping import Debugging, debug, keys


class SlowMover(Mover):
    """Opens its run when it is let, or fails when it is cancelled."""

    def __init__(self, dsn: str) -> None:
        super().__init__(resolve(dsn), LOOPING)
        self.let = threading.Event()
        self.cancelled = False

    def open(self) -> Opened:
        self.let.wait(20)
        if self.cancelled:
            raise DatabaseError("cancelled")
        return super().open()

    def cancel(self) -> None:
        self.cancelled = True
        self.let.set()


def early(
    dsn: str,
    typed: str,
    act: Callable[[Debugging], Awaitable[None]],
    opens: bool = True,
    listed: bool = False,
) -> None:
    """Type before the run is open, then let it open."""
    mover = SlowMover(dsn)

    async def drive(debugger: Debugging) -> None:
        for key in keys(typed):
            debugger.app.post_message(key)
            await debugger.pilot.pause(0)
        if opens:
            assert debugger.screen.view is None
            mover.let.set()
            await debugger.until(lambda: debugger.screen.view is not None)
            await debugger.settle()
        await act(debugger)
        mover.let.set()

    debug(dsn, LOOPING, drive, mover=mover, opened=False, listed=listed)


@pytest.mark.parametrize(
    ("typed", "number"), [("nn", 3), ("17g", 17), ("bt2c", 6), (":9<ctrl+j>n", 10), ("/8109<enter>", 5)]
)
def test_they_are_played_when_the_run_is_open(typed: str, number: int, recorded_dsn: str) -> None:
    """In their order; Enter is a line feed as long as the shell's terminal takes it."""

    async def act(debugger: Debugging) -> None:
        await debugger.until(lambda: debugger.number == number)

    early(recorded_dsn, typed, act)


def test_they_are_played_behind_the_list_too(recorded_dsn: str) -> None:
    """Enter, and on."""

    async def act(debugger: Debugging) -> None:
        await debugger.until(lambda: debugger.number == 4)

    early(recorded_dsn, "3n", act, listed=True)


def test_there_is_an_end_to_how_many_are_kept(recorded_dsn: str) -> None:
    """Somebody may lean on the keyboard."""

    async def act(debugger: Debugging) -> None:
        await debugger.until(lambda: debugger.app.keyboard.idle)
        await debugger.settle()
        assert debugger.number == 1 + 2 * (MOST_EARLY // 4)

    early(recorded_dsn, "2n" * (MOST_EARLY // 4) + "<f5>" * MOST_EARLY + "G", act)


@pytest.mark.parametrize("typed", ["q", "nn<ctrl+c>"])
def test_what_does_not_open_can_be_left(typed: str, recorded_dsn: str) -> None:
    """`q` if it comes first, Ctrl-C at any time."""

    async def act(debugger: Debugging) -> None:
        await debugger.ended()

    early(recorded_dsn, typed, act, opens=False)


def test_keys_for_a_run_that_cannot_be_opened_do_nothing_to_the_list(recorded_dsn: str) -> None:
    """They were not meant for it."""

    async def act(debugger: Debugging) -> None:
        app = debugger.app
        await debugger.send("<ctrl+c>")
        await debugger.until(lambda: "cancelled" in debugger.text)
        await debugger.until(lambda: app.keyboard.idle)
        assert app.is_running

    early(recorded_dsn, "nnqq", act, opens=False, listed=True)
