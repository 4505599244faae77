"""Signs of life for recorders that can hold no lock, behind a pooler."""

import contextlib
import threading
import weakref
from collections.abc import Callable

from stepwell.core.liveness import HEARTBEAT_SECONDS
from stepwell.errors import RecordingError
from stepwell.recorder.intents import Beat, Intent


class Pulse:
    """Submits a beat every second, once it is started, as long as who takes it exists and the last one was done."""

    def __init__(self, submit: Callable[[Intent], None]) -> None:
        """`submit` is a method; its object is not kept from collection."""
        self._submit = weakref.WeakMethod(submit)
        self._tick: weakref.WeakMethod[Callable[[], None]] | None = None
        self.after_fork()

    def also(self, tick: Callable[[], None]) -> None:
        """Call the method `tick` before each beat, whether the last one was done or not."""
        self._tick = weakref.WeakMethod(tick)

    def after_fork(self) -> None:
        """In the child: it has to be started again."""
        self._stopped = False
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to beat, unless it does so already."""
        if self._thread is None and not self._stopped:
            thread = threading.Thread(target=self._work, name="stepwell-pulse", daemon=True)
            with contextlib.suppress(
                RuntimeError
            ):  # the interpreter ends, or there is no thread left to have
                thread.start()
                self._thread = thread

    def wake(self) -> None:
        """Do not wait for the next beat."""
        self._woken.set()

    def stop(self) -> None:
        """Beat no more."""
        self._stopped = True
        self._woken.set()

    def _work(self) -> None:
        last: Intent | None = None
        while True:
            self._woken.wait(HEARTBEAT_SECONDS)
            self._woken.clear()
            if self._stopped:
                return
            if (tick := self._tick and self._tick()) is not None:
                tick()
            if (
                last is None or last.settled
            ):  # else a commit takes long: more of them would not make it quicker
                last = Beat()
                if (submit := self._submit()) is None:
                    return
                try:
                    submit(last)
                except RecordingError:  # closed
                    return
            tick = submit = None
