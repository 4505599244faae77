"""One key at a time, in the order in which they were typed."""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import TextArea

from stepwell.app.soon import soon

LINE_FEED = "ctrl+j"
"""What Enter is as long as the terminal is still in the shell's hands."""
ROUNDS = 4
"""Enter in a prompt needs all: the key's way up to the app, and the line's to the prompt, to the screen, and on."""
LOOK_SECONDS = 0.01
"""How often it is looked whether keys that were typed too early can be played."""
MOST_EARLY = 100
"""So many keys are kept until there is something to use them on."""
LOST_SECONDS = 1.0
"""After that a key counts as dealt with, come what may: a keyboard must not go dead."""

Typed = events.Key | events.Paste


class Keyboard:
    """Holds a key back until all that the key before has set off is done.

    Textual finds a key's binding only when the key has come back to the app from the widget it was sent to;
    those typed right after it are on their way to that widget by then. Where several arrive at once, as over
    a slow connection, the text after `/` would be taken for commands, and the `t` of `bt` be gone before `b` asks.
    """

    def __init__(
        self,
        app: App[int],
        dispatch: Callable[[Typed], Awaitable[None]],
        done: Callable[[], None] = lambda: None,
        early: Callable[[], bool] = lambda: False,
    ) -> None:
        self._app = app
        self._dispatch = dispatch
        self._done = done
        """Called when all that a key has set off is done."""
        self._early = early
        """Whether what the keys are meant for is not there yet."""
        self._waiting: deque[Typed] = deque()
        self._busy_since: float | None = None
        self._way: Iterator[DOMNode] = iter(())
        """Where to queue up behind the key that is under way."""
        self._meant_for: Screen[object] | None = None
        """The screen that is waited for, while there is one."""

    @property
    def idle(self) -> bool:
        """Whether every key so far has been dealt with."""
        return self._busy_since is None and not self._waiting

    async def press(self, event: Typed) -> None:
        """Take a key or a paste: at once, or when its turn has come.

        Keys that come before there is anything to use them on are played when there is. Ctrl-C is not kept,
        nor is `q` where nothing is: what does not open can be left.
        """
        if isinstance(event, events.Key) and self._leaves(event.key):
            self._waiting.clear()
            await self._dispatch(event)
            return
        if len(self._waiting) >= MOST_EARLY and self._meant_for is not None:
            return
        self._waiting.append(event)
        if self._meant_for is not None:
            return
        if self._busy_since is None or time.monotonic() - self._busy_since > LOST_SECONDS:
            await self._next()

    def _leaves(self, key: str) -> bool:
        """Whether a key is for what has not opened yet, and ends the wait for it."""
        waits = self._meant_for is not None or (self._busy_since is None and self._early())
        return waits and (key == "ctrl+c" or (key == "q" and not self._waiting))

    async def _next(self) -> None:
        if self._busy_since is not None:
            self._busy_since = None
            self._done()
        if self._waiting and self._early():
            self._meant_for = self._app.screen
            soon(self._app, LOOK_SECONDS, self._look)
        elif self._waiting:
            self._busy_since = time.monotonic()
            await self._dispatch(self._meant(self._waiting.popleft()))
            self._way = self._walk()
            await self._hop()

    def _meant(self, event: Typed) -> Typed:
        """Ctrl-J is Enter, but where there are lines to be typed a new one."""
        is_line_feed = isinstance(event, events.Key) and event.key == LINE_FEED
        is_typed = isinstance(self._app.focused, TextArea)
        return events.Key("enter", "\r") if is_line_feed and not is_typed else event

    async def _look(self) -> None:
        """Play what was typed early, or forget it where the screen that it was meant for could not open."""
        if self._meant_for not in self._app.screen_stack:
            self._waiting.clear()
        self._meant_for = None
        await self._next()

    def _walk(self) -> Iterator[DOMNode]:
        """Where a key goes: from the widget with the focus up to the app, as often as it takes."""
        for _ in range(ROUNDS):
            yield from (self._app.focused or self._app.screen).ancestors_with_self

    async def _hop(self) -> None:
        for node in self._way:
            # `call_later` would have Textual look at the signature of what it calls, each time.
            if node.post_message(events.Callback(callback=self._hop)):
                return
        await self._next()
