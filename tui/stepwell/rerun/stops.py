"""Why a replay ends before its agent does. None is an Exception, so that an agent's own `except` cannot swallow it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from stepwell.core.divergence import Divergence, sentence


class Stop(BaseException):
    """Base of all."""


class Diverged(Stop):
    """The agent did something other than what was recorded."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(sentence(divergence))
        self.divergence = divergence


class Refused(Stop):
    """The recording has no answer that could be handed out, or the agent wants what a replay must not do."""


class WentLive(Stop):
    """The agent goes on for real: who asked has to make the call. Never gets as far as the agent."""


class Reached(Stop):
    """The step that the replay was to go to has been answered, or the recording ends here."""


class BeginAgain(Stop):
    """The agent writes to a watched table, which the replay was not prepared for."""


@contextmanager
def quiet() -> Iterator[None]:
    """As long as this lasts, no thread that a stop ends says so on stderr: the report does, once."""
    before = threading.excepthook

    def hook(given: threading.ExceptHookArgs) -> None:
        if not issubclass(given.exc_type, Stop):
            before(given)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before
