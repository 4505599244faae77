"""SQL at a step as it looks. What differs from one database to the next is made the same."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from stepwell.core.past import Certainty, Instant, Seen, Verdict
from tests.app.asking import Asking
from tests.app.recorded import LOOPING
from tests.app.stepping import DebuggerApp, Debugging

Compare = Callable[..., bool]
SMALL, LARGE = (80, 24), (120, 40)
ROWS = (
    "select n as id, case when n % 4 > 0 then 'lamp ' || n end as item, n * 1.5 as total,"
    " jsonb_build_object('n', n) as info\nfrom generate_series(8101, 8130) n;"
)
SEEN = (
    Seen("orders", "past", Verdict(Certainty.EXACT)),
    Seen("stock", "past", Verdict(Certainty.UNCERTAIN, "truncated after this step")),
    Seen("public.users", "today"),
)


def app(dsn: str) -> DebuggerApp:
    return DebuggerApp(dsn, LOOPING, 11)


def asked(statement: str, keys: str = "") -> Callable[[Pilot[int]], Awaitable[None]]:
    """Ask, press keys, and then tell of a database and of tables that never change."""

    async def run(pilot: Pilot[int]) -> None:
        assert isinstance(pilot.app, DebuggerApp)
        debugger = Debugging(pilot.app, pilot)
        await debugger.until(lambda: debugger.screen.view is not None)
        await debugger.settle()
        sql = await Asking(debugger).open()
        await sql.run(statement)
        await sql.press(keys)
        answer = sql.screen.view.answer
        assert answer is not None
        steady = replace(
            answer,
            seen=SEEN if answer.seen or sql.screen.result else (),
            instant=Instant("1:1:"),
            replay=replace(answer.replay, milliseconds=3, notes=()),
        )
        sql.screen.show(answer=steady, where="agents@db1", caution="")
        await pilot.pause()

    return run


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])
def test_rows(snap_compare: Compare, recorded_dsn: str, size: tuple[int, int]) -> None:
    """A table, what its rows mean, and how they were read."""
    assert snap_compare(app(recorded_dsn), terminal_size=size, run_before=asked(ROWS, "<up>"))


def test_a_mistake(snap_compare: Compare, recorded_dsn: str) -> None:
    """Its place is marked, and the statement stays."""
    statement = "select id,\n  itm\nfrom (values (1, 'lamp')) as orders(id, item);"
    assert snap_compare(app(recorded_dsn), terminal_size=SMALL, run_before=asked(statement))


def test_rows_without_colours(
    snap_compare: Compare, recorded_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under NO_COLOR the chosen value and what is not exact are still told apart."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app(recorded_dsn), terminal_size=SMALL, run_before=asked(ROWS, "<up><tab>jjl"))
