"""Keys under a pilot, waited for until they have been dealt with.

Not by way of `Pilot.press` and a bare `Pilot.pause`: these wait until the whole process is idle, many times longer.
"""

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.pilot import Pilot

NAMES = {
    "%": "percent_sign", "!": "exclamation_mark", "[": "left_square_bracket", "]": "right_square_bracket",
    ":": "colon", "/": "slash", ".": "full_stop", ";": "semicolon", "'": "apostrophe", "<": "less_than_sign",
    ">": "greater_than_sign", "?": "question_mark", " ": "space", "@": "at", "+": "plus", "-": "minus",
    "{": "left_curly_bracket", "}": "right_curly_bracket",
}  # fmt: skip
"""What Textual calls the keys whose character is not their name."""
CHARACTERS = {name: character for character, name in NAMES.items()}
ROUNDS = 8
"""A key goes from the app to the screen, to a widget, and back; what it sets off there goes as far again."""


def key(name: str) -> events.Key:
    """The event of a key, by Textual's name."""
    return events.Key(name, name if len(name) == 1 else CHARACTERS.get(name))


async def handled(pilot: Pilot[Any], rounds: int = ROUNDS) -> None:
    """Wait until everybody has dealt with what was sent, `rounds` times over: so often may it be sent on."""
    for _ in range(rounds):
        await pilot.pause(0)


async def press_keys(pilot: Pilot[Any], names: Sequence[str]) -> None:
    """Press keys, by Textual's names, each when the one before has been dealt with."""
    for name in names:
        pilot.app.post_message(key(name))
        await handled(pilot)
