"""What has been submitted and is still to be taken."""

import contextlib
from collections import deque

from stepwell.recorder.intents import Intent

MOST_INTENTS = 512
MOST_BYTES = 16 * 1024 * 1024
"""A batch is closed when it holds so much."""


class Inbox:
    """Intents in the order in which they were submitted. Usable from any thread, and whatever interrupts it."""

    def __init__(self) -> None:
        self._queue: deque[Intent] = deque()

    def __bool__(self) -> bool:
        return bool(self._queue)

    def put(self, intent: Intent) -> None:
        self._queue.append(intent)

    def __len__(self) -> int:
        return len(self._queue)

    def take(self, batch: list[Intent], most: int = MOST_INTENTS) -> None:
        """Move what has come in to the batch. An interruption leaves no intent out, but may leave one in both places.

        For one thread at a time.
        """
        size = 0
        while self._queue and len(batch) < most and size < MOST_BYTES:
            intent = self._queue[0]
            if not intent.settled:
                batch.append(intent)
                size += intent.size
            self._queue.popleft()

    def refuse(self) -> None:
        """Tell those who wait that nothing will come of it."""
        with contextlib.suppress(IndexError):
            while True:
                intent = self._queue.popleft()
                intent.settle(intent.problem("the recorder is closed"))
