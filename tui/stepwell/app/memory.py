"""What is remembered between sessions: breakpoints of runs of a name, bookmarks of a run."""

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stepwell.app.files import write_whole
from stepwell.core.breakpoints import Breakpoint, parse_breakpoint
from stepwell.core.steps import RunHead
from stepwell.errors import StepwellError, UsageError

FILE = "memory.json"
MOST = 500
"""So many runs, and so many names, are remembered; those used longest ago are forgotten."""
BREAKPOINTS, BOOKMARKS = "breakpoints", "bookmarks"
_Entries = dict[str, object]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was remembered of a run; `words` says what is wrong with the file, if something is."""

    breakpoints: tuple[Breakpoint, ...] = ()
    bookmarks: Mapping[str, int] = field(default_factory=dict)
    words: str = ""


class Memory:
    """One JSON file in `folder`. Each call reads it anew, so that several sessions can share it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def recall(self, run: RunHead) -> Recalled:
        """What is remembered of a run. Never raises: what cannot be read is not remembered."""
        try:
            kept = self._read()
        except (OSError, ValueError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else "it is broken, and will be set aside"
            return Recalled(words=f"breakpoints are not remembered: {self.path}: {why}")
        return Recalled(
            _breakpoints(kept[BREAKPOINTS].get(run.name or "")),
            _bookmarks(kept[BOOKMARKS].get(str(run.run_id))),
        )

    def remember(self, run: RunHead, breakpoints: Sequence[Breakpoint], bookmarks: Mapping[str, int]) -> None:
        """Keep these for the next session. Raises StepwellError, one line, where nothing can be written."""
        try:
            kept = self._read_or_set_aside()
            _put(kept[BREAKPOINTS], run.name or "", [point.text for point in breakpoints])
            _put(kept[BOOKMARKS], str(run.run_id), dict(bookmarks))
            write_whole(self.path, json.dumps({"version": 1, **kept}, indent=1))
        except OSError as problem:
            words = f"kept for this session only: {self.path} cannot be written: {problem.strerror}"
            raise StepwellError(words) from problem

    def _read(self) -> dict[str, _Entries]:
        """Raises OSError, and ValueError for what is no such file."""
        try:
            found = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            found = {}
        if not isinstance(found, dict):
            raise ValueError("no object")
        kept = {}
        for name in (BREAKPOINTS, BOOKMARKS):
            entries = found.get(name, {})
            if not isinstance(entries, dict):
                raise ValueError(f"{name} is no object")
            kept[name] = entries
        return kept

    def _read_or_set_aside(self) -> dict[str, _Entries]:
        try:
            return self._read()
        except ValueError:
            os.replace(self.path, self.path.with_suffix(".broken"))
            return {BREAKPOINTS: {}, BOOKMARKS: {}}


def _put(entries: _Entries, key: str, value: Sequence[str] | Mapping[str, int]) -> None:
    """As the newest entry; an empty one is none."""
    entries.pop(key, None)
    if value:
        entries[key] = value
    while len(entries) > MOST:
        del entries[next(iter(entries))]


def _breakpoints(value: object) -> tuple[Breakpoint, ...]:
    """Those that can be read: another version may know other kinds."""
    found = []
    for text in value if isinstance(value, list) else ():
        with contextlib.suppress(UsageError):
            found.append(parse_breakpoint(str(text)))
    return tuple(dict.fromkeys(found))


def _bookmarks(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    return {
        name: number
        for name, number in value.items()
        if len(name) == 1 and isinstance(number, int) and not isinstance(number, bool)
    }
