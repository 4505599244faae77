"""What is to be done in a moment, surely."""

import asyncio
from collections.abc import Awaitable, Callable

from textual import events
from textual.message_pump import MessagePump


def soon(pump: MessagePump, seconds: float, do: Callable[[], Awaitable[None]] | Callable[[], None]) -> None:
    """Have a screen, a widget or the app do something in so many seconds, unless it is closed by then.

    A timer of Textual's never fires where its time is over before its task has begun: of a millisecond, now and then.
    """
    asyncio.get_running_loop().call_later(seconds, pump.post_message, events.Callback(callback=do))
