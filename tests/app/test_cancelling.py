"""What Ctrl-C has cancelled ends later than the key, and tells nothing to who has gone on meanwhile."""

import threading

import pytest

from stepwell.app.lister import Lister
from stepwell.app.listing import Query
from stepwell.app.messages import Found, Listed, Moved
from stepwell.app.mover import Mover
from stepwell.core.steps import RunHead
from stepwell.core.world import Moment
from stepwell.errors import DatabaseError
from stepwell.store.connect import resolve
from tests.app.listed import fill
from tests.app.listing_pilot import Runs, on_list
from tests.app.pressing import press_keys
from tests.app.recorded import LOOPING
from tests.app.stepping import Debugging, debug

WAIT = 20


class Blocked:
    """What stands still until it is let, and fails then, as a server does that is slow to cancel."""

    def __init__(self) -> None:
        self.begun, self.asked, self.let = threading.Event(), threading.Event(), threading.Event()

    def stand(self) -> None:
        self.begun.set()
        assert self.let.wait(WAIT)
        raise DatabaseError("cancelled")


class BlockedMover(Mover):
    """Never comes to the last step, and finds nothing."""

    def __init__(self, dsn: str, blocked: Blocked) -> None:
        super().__init__(resolve(dsn), LOOPING)
        self._blocked = blocked

    def move(self, number: int, moment: Moment, *, whole: bool = False) -> Moved:
        if number == 52:
            self._blocked.stand()
        return super().move(number, moment, whole=whole)

    def search(self, text: str) -> Found:
        self._blocked.stand()
        return super().search(text)

    def cancel(self) -> None:
        self._blocked.asked.set()


def cancelled_then(dsn: str, blocked_by: str, typed: str) -> str:
    """The status line at last, where something blocked is cancelled and other keys follow before it has ended."""
    blocked, told = Blocked(), list[str]()

    async def act(debugger: Debugging) -> None:
        await debugger.send(blocked_by)
        await debugger.until(blocked.begun.is_set)
        await debugger.send("<ctrl+c>")
        await debugger.until(blocked.asked.is_set)
        await debugger.send(typed)
        blocked.let.set()
        await debugger.until(
            lambda: not debugger.screen.worker.busy and not (debugger.view.busy and debugger.view.stale)
        )
        told.append(debugger.status)

    debug(dsn, LOOPING, act, step=17, mover=BlockedMover(dsn, blocked))
    return told[0]


@pytest.mark.parametrize(("number", "percent"), [(17, 33), (16, 31)])
def test_where_one_has_gone_on_to_is_not_covered_by_it(number: int, percent: int, recorded_dsn: str) -> None:
    """Back to the step that is still shown, and to another one."""
    status = cancelled_then(recorded_dsn, "G", f"{number}g")
    assert status.startswith(f"{number}/52 {percent}% after")
    assert f" 1-{number} " in status
    assert status.endswith("rolled back")


def test_nor_by_a_search_that_was_cancelled(recorded_dsn: str) -> None:
    """Its own key was the last that it had something to say to."""
    assert cancelled_then(recorded_dsn, "/Ada<enter>", "n").startswith("18/52 35% after")


@pytest.mark.parametrize("typed", ["", "<tab>"])
def test_it_is_told_where_the_panes_still_wait_for_it(typed: str, recorded_dsn: str) -> None:
    """A key that goes nowhere else leaves them so."""
    assert cancelled_then(recorded_dsn, "G", typed) == "! cancelled"


def test_a_list_that_was_cancelled_leaves_the_filter_that_was_typed_since(
    schema_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the runs of another filter than the one in the prompt would be shown."""
    fill(schema_dsn)
    blocked, page = Blocked(), Lister.page

    def blocked_page(self: Lister, query: Query, after: RunHead | None = None) -> Listed:
        if query == ("", True):
            blocked.stand()
        return page(self, query, after)

    monkeypatch.setattr(Lister, "page", blocked_page)
    monkeypatch.setattr(Lister, "cancel", lambda _: blocked.asked.set())

    async def act(runs: Runs) -> None:
        await press_keys(runs.pilot, ["f"])
        await runs.until(blocked.begun.is_set)
        await press_keys(runs.pilot, ["ctrl+c"])
        await runs.until(blocked.asked.is_set)
        await press_keys(runs.pilot, ["slash", "7"])
        blocked.let.set()
        await runs.until(lambda: runs.screen.loaded)
        assert runs.screen.listing.shown == ("7", True)
        assert [run.name for run in runs.screen.listing.runs] == ["refund-triage"]

    on_list(schema_dsn, act)
