"""What a key costs: bytes, paints and milliseconds, measured at a real terminal.

The app runs in a process of its own on a pseudo-terminal that says it can synchronise its output, so that
every paint is bracketed and can be counted.
"""

import fcntl
import inspect
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

_CHILD = "import runpy, sys; runpy.run_path(sys.argv[1])[sys.argv[2]]().run()"
_ASKS_SYNC = b"\x1b[?2026$p"
_HAS_SYNC = b"\x1b[?2026;2$y"
_PAINT = b"\x1b[?2026h"


class Cost(NamedTuple):
    """Of one key: bytes written to the terminal, paints, and milliseconds until the last byte."""

    written: int
    paints: int
    ms: float
    output: bytes = b""


def measure(
    app_factory: Callable[[], object],
    keys: Sequence[str],
    *,
    size: tuple[int, int] = (80, 24),
    settle: float = 0.15,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Cost]:
    """Press `keys` one after the other, each when it is asked for and the terminal was quiet for `settle` seconds.

    `app_factory` is a class or function at the top level of a file, without arguments; its file is run in
    the child. `size` is columns and rows. Raises RuntimeError when the app ends by itself.
    """
    source = inspect.getsourcefile(app_factory)
    if source is None:
        raise RuntimeError(f"no file defines {app_factory!r}")
    main, child_end = pty.openpty()
    fcntl.ioctl(child_end, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    kept = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, source, app_factory.__name__],
        stdin=child_end,
        stdout=child_end,
        stderr=child_end,
        env={**kept, "TERM": "xterm-256color", **(environment or {})},
        start_new_session=True,
    )
    os.close(child_end)
    try:
        _read(main, settle, first=30.0)
        for key in keys:
            yield _press(main, key, settle, process)
    finally:
        process.kill()
        process.wait()
        os.close(main)


def _press(main: int, key: str, settle: float, process: "subprocess.Popen[bytes]") -> Cost:
    began = time.perf_counter()
    os.write(main, key.encode())
    output, last = _read(main, settle)
    if process.poll() is not None:
        raise RuntimeError(f"the app ended: {output.decode(errors='replace')[-2000:]}")
    return Cost(len(output), output.count(_PAINT), (last - began) * 1000 if output else 0.0, output)


def _read(main: int, settle: float, first: float | None = None) -> tuple[bytes, float]:
    """What is written until nothing has been for `settle` seconds (the first byte may take `first`)."""
    output, last, patience = b"", time.perf_counter(), first or settle
    while select.select([main], [], [], patience)[0]:
        try:
            got = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not got:
            break
        output, last, patience = output + got, time.perf_counter(), settle
        if first:
            # Until the first paint is there, a pause is the app starting.
            patience = settle if _PAINT in output else first
            if _ASKS_SYNC in got:
                os.write(main, _HAS_SYNC)
    return output, last
