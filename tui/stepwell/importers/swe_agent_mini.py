"""mini-swe-agent: chat messages whose replies hold one shell command, fenced or as a tool call.

The oldest files are bare arrays, told from a chat by the fences and by what comes back for them.
"""

import re
from datetime import UTC, datetime
from itertools import zip_longest

from stepwell.core.recording import Failure, ImportedRun
from stepwell.importers.building import Builder
from stepwell.importers.conversation import (
    CHAT_ROLES,
    Call,
    Conversation,
    Reply,
    add_turns,
    chat_reply,
    check_messages,
    rest_tag,
)
from stepwell.importers.document import Item
from stepwell.importers.swe_agent_info import info_tags, outcome

_FENCE = re.compile(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n```", re.DOTALL)
_ROLES = CHAT_ROLES | {"exit"}
_OBSERVED = ("<returncode>", "<output>", "<exception>")


def is_mini(item: Item) -> bool:
    """By the envelope's own word, or by fenced commands that were run."""
    version = item.get("trajectory_format")
    if isinstance(version, str) and version.startswith("mini-swe-agent"):
        return True
    if isinstance(item.value, dict):
        messages = item.value.get("messages")
        if (item / "info").get("mini_version") is not None:
            return isinstance(messages, list)
    else:
        messages = item.value
    return isinstance(messages, list) and _runs_commands(messages)


def _runs_commands(messages: list[object]) -> bool:
    rows: list[dict[str, object]] = [message for message in messages if isinstance(message, dict)]
    if len(rows) < len(messages) or any(row.get("tool_calls") or row.get("role") == "tool" for row in rows):
        return False
    nothing: dict[str, object] = {}
    for row, following in zip_longest(rows, rows[1:], fillvalue=nothing):
        content, back = row.get("content"), following.get("content")
        if row.get("role") != "assistant" or not isinstance(content, str):
            continue
        if "```mswea_bash_command" in content:
            return True
        if _FENCE.search(content):
            return following.get("role") == "user" and str(back).lstrip().startswith(_OBSERVED)
    return False


def read_run(item: Item) -> ImportedRun:
    """The run of one file. Raises InvalidFileError with the path of what is wrong."""
    messages = (item / "messages" if isinstance(item.value, dict) else item).objects()
    if not messages:
        raise item.place.error("no messages in it")
    check_messages(messages, _ROLES)
    model = (item / "info" / "config" / "model").get("model_name")
    request = {"model": model} if isinstance(model, str) else {}
    builder = Builder()
    rest = add_turns(builder, Conversation(messages, request, _reply, _time))
    steps = builder.steps()
    if not steps:
        raise item.place.error("no assistant message in it, so nothing to step through")
    status: str | None
    error: Failure | None
    status, error = outcome(item / "info") if item.get("info") is not None else (None, None)
    name = item.get("instance_id")
    times = [time for time in map(_time, messages) if time]
    return ImportedRun(
        steps,
        name=name if isinstance(name, str) and name else None,
        status=status,
        error=error,
        tags={**info_tags(item), **rest_tag(rest)},
        started=min(times, default=None),
        finished=max(times, default=None),
    )


def _reply(message: Item) -> Reply:
    """Exactly one fenced command is run; with none or several the agent complains and asks again."""
    if message.get("tool_calls"):
        return chat_reply(message)
    content = message.get("content")
    commands = _FENCE.findall(content) if isinstance(content, str) else []
    calls = [Call("bash", {"command": command}) for command in commands] if len(commands) == 1 else []
    return Reply(calls, frozenset({"user"}))


def _time(message: Item) -> datetime | None:
    """`extra.timestamp`, in seconds since 1970: when the message was there."""
    seconds = (message / "extra").get("timestamp")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
