"""A list of chat messages as steps: each reply a model call, each tool call in it a step of its own."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from stepwell.core.recording import Failure
from stepwell.core.steps import LLM_CALL, TOOL_CALL
from stepwell.importers.building import Builder
from stepwell.importers.document import Item, kind, parse_object

CHAT_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_REST_LENGTH = 4000
_INT4 = 2**31
_INT8 = 2**63


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in a reply. `id` is unique at best within that reply."""

    name: str
    input: Mapping[str, object]
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply asks for, and the roles of the messages that may answer it."""

    calls: Sequence[Call]
    answer_roles: frozenset[str] = frozenset({"tool", "function"})


@dataclass(slots=True)
class Conversation:
    """Messages, and what the file says about them all."""

    messages: list[Item]
    request: Mapping[str, object] = field(default_factory=dict)
    """What else the model was given, beside the messages: `model`, `tools`, …"""
    reply: Callable[[Item], Reply] | None = None
    """How calls are written in a reply; None for the `tool_calls` of chat completions."""
    time: Callable[[Item], datetime | None] = lambda _: None
    """When a message was there, where the file says so."""


@dataclass(slots=True)
class _Waiting:
    call: Call
    number: int


def check_messages(messages: Sequence[Item], roles: frozenset[str] = CHAT_ROLES) -> None:
    """Raises InvalidFileError, with the path, at the first message that is none."""
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if not isinstance(message.value, dict) or "role" not in message.value:
            raise message.place.error("a message with a role is expected here")
        if not isinstance(role, str) or role not in roles:
            raise (message.place / "role").error(f"not a role of a chat message: {_short(role)}")
        if content is not None and not isinstance(content, str | list):
            raise (message.place / "content").error(f"text or parts are expected, not {kind(content)}")
        for index, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict) and part.get("type") in ("tool_use", "tool_result"):
                raise (message.place / "content" / index / "type").error(
                    f"{part['type']} blocks are of another format, not imported yet"
                )


def add_turns(builder: Builder, conversation: Conversation) -> list[object]:
    """Add the steps of a checked conversation; the messages after the last reply that answered no call."""
    messages = conversation.messages
    values = [message.value for message in messages]
    replies = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
    waiting: list[_Waiting] = []
    rest: list[Item] = messages if not replies else []
    for position, index in enumerate(replies):
        end = replies[position + 1] if position + 1 < len(replies) else len(messages)
        message, following = messages[index], messages[index + 1 : end]
        _add_reply(builder, conversation, message, values[:index])
        reply = (conversation.reply or chat_reply)(message)
        answers = [item for item in following if item.get("role") in reply.answer_roles]
        used = _add_calls(builder, conversation, message, reply.calls, answers, waiting)
        rest = [item for item in following if not any(item is answer for answer in used)]
    return [item.value for item in rest]


def rest_tag(rest: list[object]) -> dict[str, object]:
    """Messages after the last reply were in no prompt: they are kept with the run, unless they are long."""
    if not rest:
        return {}
    size = len(json.dumps(rest, default=str))
    return {"after_last_reply": rest if size <= _REST_LENGTH else f"{len(rest)} messages, {size} characters"}


def _add_reply(builder: Builder, conversation: Conversation, message: Item, before: list[object]) -> None:
    request = conversation.request
    model = message.get("model") or request.get("model")
    seed = request.get("seed")
    number = builder.begin(
        LLM_CALL,
        {**{key: value for key, value in request.items() if key != "messages"}, "messages": before},
        name=model if isinstance(model, str) else None,
        agent=_agent(message),
        seed=seed if type(seed) is int and -_INT8 <= seed < _INT8 else None,
    )
    response = message / "extra" / "response"
    usage = message / "usage" if message.get("usage") else response / "usage"
    reason = message.get("finish_reason") or (response / "choices" / 0).get("finish_reason")
    builder.finish(
        number,
        message.value,
        finished=conversation.time(message),
        tokens=(
            _count(usage.get("prompt_tokens"), usage.get("input_tokens")),
            _count(usage.get("completion_tokens"), usage.get("output_tokens")),
        ),
        finish_reason=reason if isinstance(reason, str) else None,
    )


def _add_calls(
    builder: Builder,
    conversation: Conversation,
    message: Item,
    calls: Sequence[Call],
    answers: list[Item],
    waiting: list[_Waiting],
) -> list[Item]:
    """Add the calls of one reply with their answers, and late answers to earlier calls; the answers used."""
    matched, left = match(calls, answers)
    used = []
    for index, call in enumerate(calls):
        number = builder.begin(TOOL_CALL, call.input, name=call.name, agent=_agent(message))
        if index in matched:
            _answer(builder, conversation, number, matched[index])
            used.append(matched[index])
        else:
            waiting.append(_Waiting(call, number))
    for answer in left:
        late = next((w for w in reversed(waiting) if _same_id(answer, w.call)), None)
        if late:
            waiting.remove(late)
            _answer(builder, conversation, late.number, answer)
            used.append(answer)
    return used


def _answer(builder: Builder, conversation: Conversation, number: int, answer: Item) -> None:
    failed = answer.get("status") == "error" or answer.get("is_error") is True
    content = answer.get("content")
    builder.finish(
        number,
        content,
        error=Failure("tool error", content if isinstance(content, str) else "") if failed else None,
        finished=conversation.time(answer),
    )


def match(calls: Sequence[Call], answers: Sequence[Item]) -> tuple[dict[int, Item], list[Item]]:
    """Which answer belongs to which call of one reply (by index), and the answers that belong to none.

    By id where both have one, the first call of that id first; the others in order, by name where they
    have names.
    """
    matched: dict[int, Item] = {}
    left: list[Item] = []
    for by_id in (True, False):
        pending, left = (answers, []) if by_id else (left, [])
        for answer in pending:
            index = _index(calls, answer, matched, by_id=by_id)
            if index is None:
                left.append(answer)
            else:
                matched[index] = answer
    return matched, left


def _index(calls: Sequence[Call], answer: Item, matched: Mapping[int, Item], *, by_id: bool) -> int | None:
    free = [(index, call) for index, call in enumerate(calls) if index not in matched]
    if by_id:
        return next((index for index, call in free if _same_id(answer, call)), None)
    nameless = [(i, call) for i, call in free if call.id is None or _id(answer) is None]
    name = answer.get("name")
    if isinstance(name, str):
        return next((index for index, call in nameless if call.name == name), None)
    return nameless[0][0] if nameless else None


def _id(answer: Item) -> str | None:
    value = answer.get("tool_call_id")
    return value if isinstance(value, str) and value else None


def _same_id(answer: Item, call: Call) -> bool:
    """Some clients prefix the id with that of the response, and a colon, when they send it back."""
    given = _id(answer)
    if given is None or call.id is None:
        return False
    return given == call.id or given.endswith(":" + call.id)


def chat_reply(message: Item) -> Reply:
    """The `tool_calls`, or the older `function_call`, of a reply. Raises InvalidFileError."""
    calls = message / "tool_calls"
    if calls.value is None:
        legacy = message / "function_call"
        return Reply([] if legacy.value is None else [_function(legacy, None)])
    return Reply([_call(call) for call in calls.objects()])


def _call(call: Item) -> Call:
    given = call.get("id")
    id_ = given if isinstance(given, str) and given else None
    custom = call / "custom"
    if isinstance(custom.value, dict):
        name = custom.get("name")
        if not isinstance(name, str):
            raise (custom.place / "name").error("the name of a tool is expected here")
        return Call(name, {"arguments": custom.get("input")}, id_)
    return _function(call / "function", id_)


def _function(function: Item, id_: str | None) -> Call:
    name = function.get("name")
    if not isinstance(name, str):
        raise (function.place / "name").error("the name of a tool is expected here")
    return Call(name, arguments(function.get("arguments")), id_)


def arguments(given: object) -> Mapping[str, object]:
    """Arguments as an object; what is none, be it cut off or no JSON at all, is kept as it was written."""
    if isinstance(given, dict):
        return given
    found = parse_object(given) if isinstance(given, str) else None
    return {"arguments": given} if found is None else found


def _agent(message: Item) -> str | None:
    name = message.get("name")
    return name if isinstance(name, str) and name else None


def _count(*values: object) -> int | None:
    return next((value for value in values if type(value) is int and 0 <= value < _INT4), None)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
