"""Which files of the user's own are loaded, and whether one has changed since."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

Stamp = tuple[int, int]


class Sources:
    """As they are when this is made."""

    def __init__(self, is_users: Callable[[str], bool]) -> None:
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        self._stamps = {file: _stamp(file) for file in files if file is not None and is_users(file)}

    def changed(self) -> bool:
        """Whether one of them is another now."""
        return any(_stamp(file) != stamp for file, stamp in self._stamps.items())


def _stamp(file: str) -> Stamp | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
