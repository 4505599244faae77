"""The SQL screen under a pilot's hands."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from textual import events

from stepwell.app.screens.sql import SqlScreen
from tests.app.recorded import LOOPING
from tests.app.stepping import Debugging, debug


class Asking:
    """SQL at the step of a debugger that is open."""

    def __init__(self, debugger: Debugging) -> None:
        self.debugger = debugger

    @property
    def screen(self) -> SqlScreen:
        found = self.debugger.app.screen
        assert isinstance(found, SqlScreen)
        return found

    @property
    def text(self) -> str:
        return self.debugger.text

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def typed(self) -> str:
        """What stands in the editor."""
        return self.screen.editor.text

    @property
    def status(self) -> str:
        return self.lines[-2] if len(self.lines) == self.screen.size.height else ""

    async def open(self) -> "Asking":
        await self.debugger.send("s")
        await self.settle()
        return self

    async def press(self, keys: str) -> None:
        """Press keys, then wait until nothing is asked any more."""
        await self.debugger.send(keys)
        await self.settle()

    async def send(self, keys: str) -> None:
        """Press keys and wait for nothing but that they have been dealt with."""
        await self.debugger.send(keys)

    async def paste(self, text: str) -> None:
        """Paste into whatever has the focus."""
        self.debugger.app.post_message(events.Paste(text))
        await self.debugger.send("")
        await self.debugger.until(lambda: self.debugger.app.keyboard.idle)

    async def run(self, text: str) -> str:
        """Run a statement in place of what is typed; the screen, once it is answered."""
        self.screen.editor.put("")
        await self.paste(text)
        await self.press("<enter>")
        return self.text

    async def settle(self) -> None:
        await self.debugger.until(
            lambda: (
                isinstance(self.debugger.app.screen, SqlScreen)
                and self.screen.ready
                and not self.screen.running
                and self.debugger.app.keyboard.idle
            )
        )


Ask = Callable[[Asking], Awaitable[None]]


def asking(
    dsn: str, act: Ask, *, run: UUID = LOOPING, step: int = 11, size: tuple[int, int] = (80, 24)
) -> None:
    """Open SQL at a step and do something there."""

    async def opened(debugger: Debugging) -> None:
        await act(await Asking(debugger).open())

    debug(dsn, run, opened, step=step, size=size)
