"""The statements that were typed, oldest first: in this session, and in a file those of the sessions before."""

import json
import threading
from collections import deque
from pathlib import Path

from stepwell.app.files import write_whole

FILE = "sql_history.json"
MOST = 200
"""So many statements are remembered; those typed longest ago are forgotten."""
LONGEST = 20_000
"""Characters of a statement that is remembered."""


class History:
    """Where Up and Down lead. A file that cannot be read or written is done without."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.texts = self._read()
        self._at = len(self.texts)
        self._draft = ""
        """What was being typed when the first step back was made."""
        self._unsaved: deque[str] = deque()
        self._saving = threading.Lock()
        """Held by who reads the file and writes it: a worker, or who leaves meanwhile."""

    def add(self, text: str) -> None:
        """Remember a statement as the newest, once, and be at the end again."""
        if text.strip() and len(text) <= LONGEST:
            self.texts = _with(self.texts, text)
        self._at, self._draft = len(self.texts), ""

    def keep(self, text: str) -> None:
        """Have the next `save` write this one too."""
        if text.strip() and len(text) <= LONGEST:
            self._unsaved.append(text)

    def save(self) -> None:
        """Add what is to be kept to the file, read anew so that several sessions can share it. Never raises."""
        with self._saving:
            if not self._unsaved:
                return
            texts = self._read()
            while self._unsaved:
                texts = _with(texts, self._unsaved.popleft())
            try:
                write_whole(self.path, json.dumps(texts, indent=1))
            except (OSError, ValueError):
                return  # they are remembered for this session only

    def recall(self, by: int, current: str) -> str | None:
        """The statement `by` places on, negative for older ones; None where there is none. `current` is kept."""
        to = self._at + by
        if not 0 <= to <= len(self.texts):
            return None
        if self._at == len(self.texts):
            self._draft = current
        self._at = to
        return self.texts[to] if to < len(self.texts) else self._draft

    def _read(self) -> list[str]:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return []
        texts = found if isinstance(found, list) else []
        return [text for text in texts if isinstance(text, str) and len(text) <= LONGEST][-MOST:]


def _with(texts: list[str], text: str) -> list[str]:
    return [*(other for other in texts if other != text), text][-MOST:]
