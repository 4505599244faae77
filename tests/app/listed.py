"""Runs as the list shows them, an app around one screen, and ways to wait for it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from stepwell.app.screens.runs import RunsScreen
from stepwell.app.widgets.lines import Lines
from stepwell.core.steps import RunHead
from stepwell.store.connect import resolve
from tests.app.pressing import handled
from tests.store.rows import NOON, add_run, add_step, run_id

LOOPING, DIED, WELL = run_id(0x7F3A0000), run_id(0xB20C0000), run_id(0x04AA0000)
NOW = NOON + timedelta(minutes=63, seconds=30)


def fill(dsn: str) -> None:
    """A failed run that looped, one that died in a call, and one that is well; newest first."""
    loop = {"name": "search_orders", "first": 5, "last": 51, "period": 1, "laps": 24}
    error = {"type": "shop.agent.MaxTurnsError", "message": "25 turns"}
    add_run(
        dsn, LOOPING, minute=60, name="refund-triage", status="failed", steps=52, finished=52,
        finished_at=NOON + timedelta(minutes=61, seconds=31), error=Jsonb(error), loop=Jsonb(loop),
        tags=Jsonb({"tenant": "a"}),
    )  # fmt: skip
    add_run(dsn, DIED, minute=54, name="refund-triage", status="running", steps=17, finished=16)
    add_step(dsn, DIED, 17, name="send_email", started_at=NOON + timedelta(minutes=55))
    add_run(
        dsn, WELL, minute=0, name="invoice-check", status="ok", steps=12, finished=12,
        finished_at=NOON + timedelta(seconds=14), agents=["triage", "a", "b"],
    )  # fmt: skip


def fill_many(dsn: str, number: int) -> None:
    """So many runs that are well, a minute apart, the newest with the highest number."""
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO agent_runs (run_id, name, status, steps, finished, started_at, finished_at)"
            " VALUES (%s, %s, 'ok', 3, 3, %s, %s)",
            [
                (run_id(n), f"agent-{n}", NOON + timedelta(minutes=n), NOON + timedelta(minutes=n, seconds=5))
                for n in range(1, number + 1)
            ],
        )


class ScreenApp(App[object]):
    """One screen; what it dismisses with is in `results`."""

    CSS = "Screen { background: ansi_default; color: ansi_default; overflow: hidden hidden; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self.under_test = screen
        self.results: list[object] = []
        self.opened: list[tuple[RunHead | str, int | None]] = []

    def on_mount(self) -> None:
        self.push_screen(self.under_test, self.results.append)

    def open_run(self, run: RunHead, step: int | None = None) -> None:
        self.opened.append((run, step))

    def open_address(self, text: str) -> None:
        self.opened.append((text, None))


def runs_app(dsn: str, now: Callable[[], datetime] = lambda: NOW) -> ScreenApp:
    return ScreenApp(RunsScreen(resolve(dsn), now))


Act = Callable[[Pilot[object]], Awaitable[None]]


def drive(app: App[object], act: Act, size: tuple[int, int] = (80, 24)) -> None:
    """Run an app without a terminal and do something with it."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await act(pilot)

    asyncio.run(run())


async def until(pilot: Pilot[object], condition: Callable[[], object]) -> None:
    """Wait for what another thread or the server brings about; fail after a while."""
    for _ in range(15_000):
        await pilot.pause(0.002)
        if condition():
            await handled(pilot)
            return
    raise AssertionError("it never came about")


def text_of(widget: Widget) -> list[str]:
    """What the rows of every `Lines` under a widget say, top to bottom."""
    return [
        lines.render_line(y).text.rstrip()
        for lines in widget.query(Lines)
        if lines.display
        for y in range(lines.size.height)
    ]
