"""Chat-completions messages with tool calls.

A bare array of messages; an object that holds one under `messages` (the body of a request, a line of a
fine-tuning set) or `traj` (tau-bench, with a reward); an array of such; JSONL with one of these, or one
message, on each line.
"""

from collections.abc import Iterator, Mapping

from stepwell.core.recording import Failure, ImportedRun
from stepwell.importers.building import Builder
from stepwell.importers.conversation import CHAT_ROLES, Conversation, add_turns, check_messages, rest_tag
from stepwell.importers.document import Document, Item

NAME = "chat-completions"
TITLE = "chat-completions messages"
_LISTS = ("messages", "traj")
_REQUEST = frozenset(
    {
        *("model", "seed", "temperature", "top_p", "n", "stop", "max_tokens", "max_completion_tokens"),
        *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
        *("response_format", "reasoning_effort", "frequency_penalty", "presence_penalty", "logit_bias"),
    }
)
"""What a request says beside the messages, and so a part of each model call's input."""
_TAG_LENGTH = 200


def recognises(document: Document) -> bool:
    first = document.items[0].value
    if isinstance(first, dict) and "role" in first:
        return document.is_lines
    if isinstance(first, list) and not first:
        return True
    if isinstance(first, list) and isinstance(first[0], dict):
        # Objects with `messages` of other kinds come in lists too: only here are the messages looked into.
        lists = [first[0].get(key) for key in _LISTS]
        return _is_conversation(first) or any(_is_conversation(found) or found == [] for found in lists)
    return _is_conversation(first) or (isinstance(first, list) and _is_conversation(first[0]))


def read(document: Document) -> tuple[ImportedRun, ...]:
    """One run a conversation. Raises InvalidFileError with the line or path of what is wrong."""
    items = document.items
    if document.is_lines and isinstance(items[0].value, dict) and "role" in items[0].value:
        return (_run(Item({}, items[0].place), list(items)),)
    found = [pair for item in items for pair in _conversations(item)]
    if not any(messages for _, messages in found):
        place = found[0][0].place if len(found) == 1 else items[0].place
        raise place.error("no messages in it")
    return tuple(_run(envelope, messages) for envelope, messages in found)


def _is_conversation(value: object) -> bool:
    """Whether it looks like one from its outside; whether it is well-formed is seen when it is read."""
    if isinstance(value, dict):
        return any(isinstance(value.get(key), list) for key in _LISTS)
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "role" in value[0]


def _conversations(item: Item) -> Iterator[tuple[Item, list[Item]]]:
    """Envelopes (an empty object where there is none) and their messages."""
    if isinstance(item.value, dict):
        key = next((key for key in _LISTS if isinstance(item.value.get(key), list)), _LISTS[0])
        yield item, (item / key).objects()
    elif isinstance(item.value, list) and item.value and _is_conversation(item.value[0]):
        for index in range(len(item.value)):
            yield from _conversations(item / index)
    else:
        yield Item({}, item.place), item.objects()


def _run(envelope: Item, messages: list[Item]) -> ImportedRun:
    check_messages(messages, CHAT_ROLES)
    fields = envelope.value if isinstance(envelope.value, dict) else {}
    builder = Builder()
    request = {key: value for key, value in fields.items() if key in _REQUEST}
    rest = add_turns(builder, Conversation(messages, request))
    steps = builder.steps()
    if messages and not steps:
        raise envelope.place.error("no assistant message in it, so nothing to step through")
    status, error = _outcome(envelope)
    name = fields.get("instance_id")
    return ImportedRun(
        steps,
        name=name if isinstance(name, str) and name else None,
        status=status,
        error=error,
        tags={**_tags(fields), **rest_tag(rest)},
    )


def _tags(fields: Mapping[str, object]) -> dict[str, object]:
    """What an envelope says in single words and numbers."""
    return {
        key: value
        for key, value in fields.items()
        if key not in _REQUEST
        and (isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _TAG_LENGTH))
    }


def _outcome(envelope: Item) -> tuple[str | None, Failure | None]:
    """A reward of 0 is a failure; without a reward nothing is known."""
    problem = (envelope / "info").get("error")
    if isinstance(problem, str):
        return "failed", Failure("error", problem)
    reward = envelope.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        return None, None
    if reward > 0:
        return "ok", None
    parts = (envelope / "info" / "reward_info" / "info").value
    scores = parts if isinstance(parts, dict) else {}
    why = ", ".join(f"{key} {value}" for key, value in scores.items() if key.startswith("r_"))
    return "failed", Failure("reward", f"{reward} ({why})" if why else str(reward))
