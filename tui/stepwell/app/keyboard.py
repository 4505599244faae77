"""One key at a time, in the order in which they were typed."""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from textual import events
from textual.app import App
from textual.dom import DOMNode

ROUNDS = 4
"""Enter in a prompt needs all: the key's way up to the app, and the line's to the prompt, to the screen, and on."""
LOST_SECONDS = 1.0
"""After that a key counts as dealt with, come what may: a keyboard must not go dead."""

Typed = events.Key | events.Paste


class Keyboard:
    """Holds a key back until all that the key before has set off is done.

    Textual finds a key's binding only when the key has come back to the app from the widget it was sent to;
    those typed right after it are on their way to that widget by then. Where several arrive at once, as over
    a slow connection, the text after `/` would be taken for commands, and the `t` of `bt` be gone before `b` asks.
    """

    def __init__(self, app: App[int], dispatch: Callable[[Typed], Awaitable[None]]) -> None:
        self._app = app
        self._dispatch = dispatch
        self._waiting: deque[Typed] = deque()
        self._busy_since: float | None = None

    async def press(self, event: Typed) -> None:
        """Take a key or a paste: at once, or when its turn has come."""
        self._waiting.append(event)
        if self._busy_since is None or time.monotonic() - self._busy_since > LOST_SECONDS:
            await self._next()

    async def _next(self) -> None:
        self._busy_since = None
        if self._waiting:
            self._busy_since = time.monotonic()
            await self._dispatch(self._waiting.popleft())
            await self._walk(ROUNDS)

    async def _walk(self, rounds: int) -> None:
        """Queue up behind the key where it goes, from the widget with the focus up to the app."""
        start = self._app.focused or self._app.screen
        await self._hop(start.ancestors_with_self, rounds)

    async def _hop(self, nodes: Sequence[DOMNode], rounds: int) -> None:
        while nodes:
            node, nodes = nodes[0], nodes[1:]
            if node.call_later(self._hop, nodes, rounds):
                return
        if rounds > 1:
            await self._walk(rounds - 1)
        else:
            await self._next()
