"""Temporary files of a replay: they have the names that they had then, and are gone with it.

Else the next replay could not give the names again; and what had them then may be there still, and is left alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from stepwell.recorder.chance import NAMES, Os, names

T = TypeVar("T")
_OS = "_os"
"""Where `tempfile` has the module `os`."""


class Temporary:
    """Usable from any thread. Outside of `installed` nothing is changed."""

    def __init__(self, draw: Callable[[int], bytes], note: Callable[[str], None]) -> None:
        """`draw` gives as many bytes of chance; `note` is told of a name that is taken."""
        self._draw, self._note = draw, note
        self._made: list[str] = []

    @contextmanager
    def installed(self) -> Iterator[None]:
        """As long as this lasts, `tempfile` gives the names that it gave."""
        module = vars(tempfile)
        before = {name: module[name] for name in (NAMES, _OS)}
        module.update({NAMES: names(self._draw), _OS: Os(mkdir=self._mkdir, open=self._open)})
        try:
            yield
        finally:
            module.update(before)

    def remove(self) -> None:
        """Remove what was made meanwhile, and is still there."""
        for path in reversed(self._made):
            with suppress(OSError):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def _mkdir(self, path: Any, *rest: Any) -> None:
        self._made_by(path, lambda: os.mkdir(path, *rest))

    def _open(self, path: Any, flags: int, *rest: Any) -> int:
        if not flags & os.O_CREAT:  # a file that never gets a name
            return os.open(path, flags, *rest)
        return self._made_by(path, lambda: os.open(path, flags, *rest))

    def _made_by(self, path: str | bytes, make: Callable[[], T]) -> T:
        full = os.path.abspath(os.fsdecode(path))
        try:
            made = make()
        except FileExistsError:
            self._note(f"{full} is there already, so the agent gets another name than then; remove it")
            raise
        self._made.append(full)
        return made
