"""The text of a test that replays a recording."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from stepwell.core.steps import RunHead
from stepwell.errors import UsageError

_LONGEST = 100
"""Characters that one line quotes of a run's own words."""
_HINT = "  # not found? run it in the folder of the agent: python -m pytest"
"""Shown by pytest with the line that it is on."""


class AgentPlace(NamedTuple):
    """Where an agent's code is: `package.module:callable`, or `package.module:Class.method`."""

    module: str
    name: str

    @property
    def root(self) -> str:
        """What is imported."""
        return self.name.partition(".")[0]


def agent_at(text: str) -> AgentPlace:
    """Of a name that is one."""
    module, _, name = text.partition(":")
    return AgentPlace(module, name)


def name_of_test(text: str) -> str:
    """The name of the test's function. Raises UsageError for what no function can be called."""
    name = re.sub(r"[-\s]", "_", text)
    name = name if name.startswith("test_") else f"test_{name}"
    if not name.isidentifier():
        raise UsageError(f"{text!a} cannot be the name of a test; give one with --name")
    return name


def source(
    head: RunHead,
    agent: AgentPlace,
    name: str,
    recording: str,
    redact: Sequence[str] = (),
    *,
    hint: bool = False,
) -> str:
    """A module with one test of that name. `recording` is the file beside it, `redact` the names to leave out.

    With `hint`, the line that fails where pytest does not find the agent says what to do.
    """
    taken = agent.root in (name, "stepwell", "Path", "RECORDING") or agent.root.lower().startswith("test")
    own = "agent" if taken else agent.root
    imported = (
        f"from {agent.module} import {agent.root}{f' as {own}' if taken else ''}{_HINT if hint else ''}"
    )
    called = own + agent.name.removeprefix(agent.root)
    more = f", redact=[{', '.join(map(_literal, redact))}]" if redact else ""
    return f'''\
"""{_about(head)}

The test passes as long as the agent does what the recording beside it says, and shows the first thing that it does
otherwise. If that is meant, record it anew, with calls that are made for real: pytest --stepwell-record
"""

from pathlib import Path

import stepwell
{imported}

RECORDING = Path(__file__).with_name({_literal(recording)})


def {name}() -> None:
    stepwell.replay_file(RECORDING, {called}{more})
'''


def _literal(text: str) -> str:
    """The text as Python has it, between double quotes where it holds none."""
    made = repr(text)
    return made if '"' in made else f'"{made[1:-1]}"'


def _about(head: RunHead) -> str:
    """What run it is, when it was, and how it ended."""
    name = _quoted(head.name or "") or "a run"
    when = (
        ""
        if head.started is None
        else f" of {head.started.astimezone().strftime('%Y-%m-%d %H:%M %Z').strip()}"
    )
    ends = {"ok": "ended well after", "failed": "failed after", "died": "died after"}
    end = ends.get(head.status, "has")
    steps = f"{head.steps} step{'' if head.steps == 1 else 's'}"
    lines = [f"Made of {name} {head.run_id.hex[:8]}{when}, which {end} {steps}."]
    if head.error:
        lines += ["", f"    {_quoted(head.error)}"]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Recorded words as they can stand in a docstring, on one line."""
    line = " ".join(text.split()).replace('"', "'")
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return "".join(char if char.isprintable() and char != "\\" else _escape(char) for char in line)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "backslashreplace").decode("ascii").replace("\\", "\\\\")
