"""Signs of life for recorders that can hold no lock, behind a pooler."""

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
        self.after_fork()

    def after_fork(self) -> None:
        """In the child: it has to be started again."""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to beat, unless it does so already."""
        if self._thread is None and not self._stopped.is_set():
            self._thread = threading.Thread(
                target=_beat, args=(self._submit, self._stopped), name="stepwell-pulse", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Beat no more."""
        self._stopped.set()


def _beat(method: "weakref.WeakMethod[Callable[[Intent], None]]", stopped: threading.Event) -> None:
    last: Intent | None = None
    while not stopped.wait(HEARTBEAT_SECONDS):
        if last is not None and not last.settled:
            continue  # a commit takes long: more of them would not make it quicker
        submit = method()
        if submit is None:
            return
        last = Beat()
        try:
            submit(last)
        except RecordingError:  # closed
            return
        del submit
