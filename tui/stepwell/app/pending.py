"""Keys that wait for another key: counts, and choosers such as `b`."""

from dataclasses import dataclass, field

from stepwell.core.timeline import Timeline

MOST_DIGITS = 7
ASKED = ("break", "jump", "mark", "leave", "quit")


@dataclass(frozen=True, slots=True)
class Answer:
    """The key that answered a chooser; `count` is what was typed between the two, as in `b3l`."""

    kind: str
    character: str
    count: int | None


@dataclass(slots=True)
class Pending:
    """What has been typed so far and means nothing yet."""

    digits: str = ""
    kind: str | None = None
    _before: str = field(default="", repr=False)

    def key(self, key: str, character: str | None) -> Answer | str | None:
        """Take a key, or leave it to the bindings (None). A text is for the status line."""
        character = character or ""
        is_digit = character.isdigit() and character.isascii() and (character != "0" or bool(self.digits))
        if is_digit and self.kind not in ("jump", "mark"):
            self.digits = (self.digits + character)[-MOST_DIGITS:]
            return f"{self._before}{self.digits}"
        if self.kind is None:
            if key in ("escape", "backspace") and self.digits:
                self.digits = ""
                return ""
            return None
        kind, count = self.kind, self.take_count()
        self.kind = None
        if key == "escape":
            return ""
        return Answer(kind, character, count)

    def ask(self, kind: str, timeline: Timeline) -> str:
        """Wait for the answer to a chooser; the words that ask for it."""
        self.kind = kind
        self.digits = ""
        self._before = f"{kind} "
        return _question(kind, timeline)

    def drop_count(self) -> None:
        """Forget a count that was typed before a key that takes none."""
        self.digits = ""

    def take_count(self) -> int | None:
        """The count typed before, once."""
        digits, self.digits, self._before = self.digits, "", ""
        return int(digits) if digits else None


def _question(kind: str, timeline: Timeline) -> str:
    if kind == "mark":
        return "bookmark: a letter"
    if kind == "jump":
        known = " ".join(f"{letter}@{number}" for letter, number in sorted(timeline.bookmarks.items()))
        return f"' undoes the last jump; bookmarks: {known or 'none, m sets one'}"
    if kind in ("leave", "quit"):
        return "the what-if is not saved. Throw it away? y yes  W save it  any other key stays"
    step = timeline.current
    name = step.name if step and step.name else "no name here"
    return f"break: n {name}  t {step.type if step else 'type'}  e errors  l laps (3l: third)"
