"""What `:` takes: a place, or a command that any unique beginning names. Pure.

A run's id is shown with at least four digits, and no four letters of a command are hexadecimal digits, so
short words are commands.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from stepwell.core.address import Address, Target, parse_goto
from stepwell.core.breakpoints import Condition, parse_condition
from stepwell.core.world import Moment
from stepwell.errors import UsageError

COMMANDS = {
    "break": "KIND:ARG  stop at name:TOOL, type:STEP_TYPE, error or lap:2; alone: this step's name",
    "delete": "KIND:ARG  that breakpoint; alone: all of them",
    "follow": "stay at the tail of a live run",
    "asked": "the world when the step began",
    "after": "the world when the step had finished",
    "diff": "of this prompt against the one before",
    "raw": "the chosen pane's value as it is stored",
    "whole": "all messages of the prompt",
    "fold": "every loop and every parent",
    "unfold": "all of them",
    "save": "the what-if as a branch, a run of its own",
    "live": "the agent goes on for real; it asks first",
    "parent": "the run that this branch leaves, and where",
    "runs": "back to the list of runs",
    "help": "all keys",
    "quit": "leave Stepwell",
}
"""Each command and what it does, for the help screen."""
GOES_TO = "17, 50%, @11:42, @+90s or RUN:17"


@dataclass(frozen=True, slots=True)
class Goto:
    """A place in this run, or an address."""

    place: Target | Address


@dataclass(frozen=True, slots=True)
class Break:
    """Set a breakpoint; None means on what the step at the cursor is called."""

    condition: Condition | None


@dataclass(frozen=True, slots=True)
class Delete:
    """Take a breakpoint away; None means all of them."""

    condition: Condition | None


@dataclass(frozen=True, slots=True)
class Look:
    """At the world of this moment of the step."""

    moment: Moment


@dataclass(frozen=True, slots=True)
class FoldAll:
    """Fold everything that folds, or unfold it."""

    folded: bool


@dataclass(frozen=True, slots=True)
class Toggle:
    """Switch a way of showing things on or off."""

    what: Literal["follow", "diff", "raw", "whole"]


@dataclass(frozen=True, slots=True)
class Leave:
    """This screen, for another one or for good."""

    to: Literal["save", "live", "parent", "runs", "help", "quit"]


Command = Goto | Break | Delete | Look | FoldAll | Toggle | Leave


def parse_command(text: str, offered: Collection[str] = COMMANDS) -> Command:
    """What was typed after the colon. Raises UsageError: one line that names what there is.

    `offered` are the commands of this screen; others are understood where no beginning of these is meant.
    """
    word, _, argument = text.strip().partition(" ")
    if not word:
        raise UsageError(f"go to {GOES_TO}, or {', '.join(offered)}")
    if not re.fullmatch("[A-Za-z]+", word):
        return Goto(parse_goto(text))
    found = [name for name in COMMANDS if name.startswith(word.lower())]
    if word.lower() in COMMANDS:
        found = [word.lower()]
    found = [name for name in found if name in offered] or found[:1]
    if len(found) > 1:
        raise UsageError(f"{word} begins {' and '.join(found)}: type more of it")
    if found:
        return _command(found[0], argument.strip())
    if re.fullmatch("[0-9a-fA-F]+", word) and not argument:
        return Goto(parse_goto(word))
    raise UsageError(f"no command {word[:20]!r}: {', '.join(offered)}; or go to {GOES_TO}")


def _command(name: str, argument: str) -> Command:
    if name in ("break", "delete"):
        condition = parse_condition(argument) if argument else None
        return Break(condition) if name == "break" else Delete(condition)
    if argument:
        raise UsageError(f"{name} takes no argument, not {argument[:20]!r}")
    match name:
        case "asked" | "after":
            return Look(Moment(name))
        case "fold" | "unfold":
            return FoldAll(name == "fold")
        case "follow" | "diff" | "raw" | "whole":
            return Toggle(name)
        case "save" | "live" | "parent" | "runs" | "help" | "quit":
            return Leave(name)
    raise AssertionError(name)
