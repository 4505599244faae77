"""Telling the user's own code from that of libraries, and showing where in it something is."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType

from stepwell.core.rerun import Place

OWN = str(Path(__file__).parents[1]) + os.sep


@cache
def libraries() -> tuple[str, ...]:
    """The folders in which nothing is the user's own code: of Stepwell's, installed packages', then Python's.

    As they are named, which modules have from there, and without symbolic links.
    """
    named = [OWN, *map(sysconfig.get_path, ("purelib", "platlib"))]
    named += [*site.getsitepackages(), site.getusersitepackages()]
    named += map(sysconfig.get_path, ("stdlib", "platstdlib"))
    found = (path for folder in named if folder for path in (folder, os.path.realpath(folder)))
    return tuple(dict.fromkeys(os.path.join(folder, "") for folder in found))


class Places:
    """Lines of code as people want them: a file as seen from the current folder, or from its library's."""

    def __init__(self, folders: Iterable[str], here: str | None = None) -> None:
        self._folders = tuple(folders)
        self._here = here

    def is_users(self, file: str) -> bool:
        return not file.startswith("<") and not os.path.realpath(file).startswith(self._folders)

    def pick(self, places: Iterable[Place]) -> Place | None:
        """The first that is in the user's own code, else the first in a file."""
        found = [place for place in places if not place.file.startswith("<")]
        chosen = next((place for place in found if self.is_users(place.file)), found[0] if found else None)
        return None if chosen is None else Place(self._shown(chosen.file), chosen.line, chosen.function)

    def of_error(self, error: BaseException) -> Place | None:
        """Where it was raised."""
        summary = traceback.extract_tb(error.__traceback__)
        return self.pick(Place(frame.filename, frame.lineno or 0, frame.name) for frame in reversed(summary))

    def of_caller(self) -> Place | None:
        """Where the call comes from that is under way."""
        return self.pick(
            Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)
            for frame in callers()
            if not frame.f_code.co_filename.startswith(OWN)
        )

    def _shown(self, file: str) -> str:
        for folder in (*self._folders, os.path.join(self._here or os.getcwd(), "")):
            if file.startswith(folder):
                return file[len(folder) :]
        return file


def callers() -> Iterator[FrameType]:
    """The frames of this thread, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
