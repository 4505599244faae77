"""Runs made of a few letters, for the tests of the debugger's pure parts."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL, RunHead, StepHead

BEGIN = datetime(2025, 3, 1, 11, 41, 3, tzinfo=UTC)
RUN_ID = UUID("7f3a0000-0000-4000-8000-000000000001")


def tool(number: int, call: str = "a", *, agent: str | None = None, parent: int | None = None) -> StepHead:
    """A finished tool call; calls of the same letter are the same call."""
    return StepHead(
        number, TOOL_CALL, True, agent=agent, name=f"tool_{call}", parent=parent, call_hash=ord(call[0])
    )


def model(
    number: int, *, agent: str | None = None, parent: int | None = None, error: str | None = None
) -> StepHead:
    return StepHead(number, LLM_CALL, error is None, agent=agent, name="gpt", parent=parent, error=error)


def state(number: int) -> StepHead:
    return StepHead(number, STATE_UPDATE, True)


def unfinished(number: int, *, agent: str | None = None) -> StepHead:
    return StepHead(number, TOOL_CALL, agent=agent, name="send_email")


def run(status: str = "ok") -> RunHead:
    return RunHead(RUN_ID, status, started=BEGIN)


def calls(letters: str, *, agent: str | None = None) -> list[StepHead]:
    """One tool call a letter, numbered from 1."""
    return [tool(number, letter, agent=agent) for number, letter in enumerate(letters, 1)]


def script(text: str) -> list[StepHead]:
    """`L` model call, `S` state, `!` model call that raised, `?` unfinished, any other letter a tool call."""
    made = {"L": model, "S": state, "?": unfinished}
    return [
        model(number, error="Boom: no")
        if letter == "!"
        else made[letter](number)
        if letter in made
        else tool(number, letter)
        for number, letter in enumerate(text, 1)
    ]


def timed(seconds: Sequence[float]) -> list[StepHead]:
    """Model calls that begin so many seconds after the run."""
    return [
        StepHead(number, LLM_CALL, True, started=BEGIN + timedelta(seconds=second))
        for number, second in enumerate(seconds, 1)
    ]
