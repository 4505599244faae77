"""A list of runs under the hands of a pilot."""

from collections.abc import Awaitable, Callable

from textual.pilot import Pilot

from stepwell.app.screens.runs import RunsScreen
from tests.app.listed import ScreenApp, drive, runs_app, text_of, until
from tests.app.pressing import press_keys


class Runs:
    """The list of one database, loaded, under the hands of a pilot."""

    def __init__(self, app: ScreenApp, pilot: Pilot[object]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> RunsScreen:
        screen = self.app.under_test
        assert isinstance(screen, RunsScreen)
        return screen

    @property
    def rows(self) -> list[str]:
        return text_of(self.screen)

    async def press(self, *keys: str) -> None:
        """Press keys and wait until the list that they ask for is there."""
        await press_keys(self.pilot, keys)
        await self.until(lambda: self.screen.loaded)

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self.pilot, condition)

    async def type(self, text: str) -> None:
        await self.press(*["space" if char == " " else char for char in text])


def on_list(dsn: str, act: Callable[[Runs], Awaitable[None]], size: tuple[int, int] = (80, 24)) -> ScreenApp:
    app = runs_app(dsn)

    async def run(pilot: Pilot[object]) -> None:
        runs = Runs(app, pilot)
        await runs.until(lambda: runs.screen.loaded and runs.screen.listing.where)
        await act(runs)

    drive(app, run, size)
    return app
