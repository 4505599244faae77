"""Chat messages of the usual APIs, told apart by shape: OpenAI chat and responses, Anthropic, LangChain.

Nothing here raises: what has no known shape is an `Odd` part, shown as JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stepwell.app.present.figures import size
from stepwell.app.present.values import dumps, loads


@dataclass(frozen=True, slots=True)
class Text:
    """What was said; `label` is empty, or `thinking`, `refusal` or the like."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `arguments` is a mapping where they could be read, else what was there."""

    name: str
    arguments: object
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back."""

    call_id: str
    parts: "tuple[Part, ...]"
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image, a sound, a file: named, with its size, never shown."""

    label: str


@dataclass(frozen=True, slots=True)
class Odd:
    """A part of no known shape."""

    value: object


Part = Text | Call | Result | Attachment | Odd


@dataclass(frozen=True, slots=True)
class Message:
    """One message: `role` is `user`, `assistant`, `tool`, `system` or whatever was recorded, `?` for none."""

    role: str
    parts: tuple[Part, ...]
    name: str = ""
    call_id: str = ""
    others: Mapping[str, object] = field(default_factory=dict)
    """What else it holds: fields that have no known meaning."""


_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool", "model": "assistant"}
_TEXTS = {"text", "input_text", "output_text", "summary_text", "reasoning_text"}
_LABELLED = {"thinking": "thinking", "reasoning": "thinking", "refusal": "refusal"}
_ITEMS = {"function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output"}


_KNOWN = frozenset(
    {
        *(
            "role",
            "type",
            "content",
            "reasoning_content",
            "reasoning",
            "refusal",
            "tool_calls",
            "function_call",
        ),
        *("name", "tool_call_id"),
        *(
            "id",
            "object",
            "model",
            "status",
            "index",
            "phase",
            "usage",
            "usage_metadata",
            "response_metadata",
        ),
        *("stop_reason", "stop_sequence", "finish_reason"),
    }
)
"""What is shown of a message, and what the usual APIs say about it."""


def prompt_messages(value: object) -> list[object] | None:
    """The messages in the input of a model call, oldest first; None if it holds none."""
    if isinstance(value, list):
        return value if value and all(_is_message(item) for item in value) else None
    if not isinstance(value, Mapping):
        return None
    for key, before in (("messages", "system"), ("input", "instructions"), ("kwargs", "")):
        found = value.get(key)
        if key == "kwargs":
            return prompt_messages(found)
        if isinstance(found, str) and isinstance(value.get("model"), str):
            found = [{"role": "user", "content": found}]
        if isinstance(found, list):
            lead = value.get(before)
            return [{"role": "system", "content": lead}, *found] if lead else found
    return None


def reply_messages(value: object) -> list[object] | None:
    """The messages in the output of a model call; None if it holds none."""
    if not isinstance(value, Mapping):
        return None
    choices, output = value.get("choices"), value.get("output")
    if isinstance(choices, list):
        found = [
            choice["message"] for choice in choices if isinstance(choice, Mapping) and choice.get("message")
        ]
        return found or None
    if isinstance(output, list) and any(_is_message(item) for item in output):
        return output
    return [value] if _is_message(value) else None


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    return (isinstance(value.get("role"), str) and bool({"content", "tool_calls"} & set(value))) or (
        value.get("type") in _ITEMS
    )


def message(value: object) -> Message:
    """One recorded message, whatever its shape."""
    if isinstance(value, str):
        return Message("?", (Text(value),))
    if not isinstance(value, Mapping):
        return Message("?", (Odd(value),))
    kind = value.get("type")
    if kind in _ITEMS:
        return _item(str(kind), value)
    role = value.get("role") or (kind if kind != "message" else None)
    if not isinstance(role, str):
        return Message("?", (Odd(value),))
    return Message(
        role=_ROLES.get(role, role),
        parts=tuple(_message_parts(value)),
        name=_word(value.get("name")),
        call_id=_word(value.get("tool_call_id")),
        others={
            str(name): held
            for name, held in value.items()
            if name not in _KNOWN and held not in (None, "", [], {})
        },
    )


def _message_parts(value: Mapping[str, object]) -> Iterator[Part]:
    thought = value.get("reasoning_content") or value.get("reasoning")
    if isinstance(thought, str):
        yield Text(thought, "thinking")
    yield from _parts(value.get("content"))
    if isinstance(refusal := value.get("refusal"), str):
        yield Text(refusal, "refusal")
    calls = value.get("tool_calls")
    if isinstance(calls, Sequence) and not isinstance(calls, str):
        yield from map(_call, calls)
    elif calls is not None:
        yield Odd(calls)
    if legacy := value.get("function_call"):
        yield _call({"function": legacy})


def _parts(content: object) -> Iterator[Part]:
    if isinstance(content, str):
        yield Text(content)
    elif isinstance(content, list):
        yield from map(_part, content)
    elif content is not None:
        yield _part(content)


def _part(value: object) -> Part:
    if isinstance(value, str):
        return Text(value)
    if not isinstance(value, Mapping):
        return Odd(value)
    kind = _word(value.get("type"))
    text = value.get("text")
    if (kind in _TEXTS or not kind) and isinstance(text, str):
        return Text(text)
    if kind in _LABELLED and isinstance(said := value.get(kind, text), str):
        return Text(said, _LABELLED[kind])
    if kind == "tool_use":
        return Call(_word(value.get("name")), value.get("input"), _word(value.get("id")))
    if kind == "tool_result":
        failed = value.get("is_error") is True
        return Result(_word(value.get("tool_use_id")), tuple(_parts(value.get("content"))), failed)
    return Attachment(_label(kind, value)) if kind else Odd(value)


def _label(kind: str, value: Mapping[str, object]) -> str:
    """`image_url https://…`, or `image image/png, 12.4 KB`: where it is or what it is, and how large."""
    source = value.get(kind, value.get("source", value))
    if isinstance(source, Mapping):
        url = source.get("url") or source.get("image_url") or source.get("file_id")
        what = _word(source.get("media_type") or source.get("format") or source.get("filename"))
    else:
        url, what = source, ""
    if isinstance(url, str) and len(url) <= 200 and not url.startswith("data:"):
        return f"{kind} {url}"
    if isinstance(url, str) and url.startswith("data:"):
        what = url[5:60].partition(";")[0]
    return " ".join(filter(None, (kind, what))) + f", {size(len(dumps(value)))}"


def _call(value: object) -> Part:
    if not isinstance(value, Mapping):
        return Odd(value)
    function = value.get("function", value.get("custom", value))
    if not isinstance(function, Mapping) or not isinstance(name := function.get("name"), str):
        return Odd(value)
    given = function.get("arguments", function.get("args", function.get("input")))
    return Call(name, _arguments(given), _word(value.get("call_id") or value.get("id")))


def _arguments(given: object) -> object:
    if isinstance(given, str):
        try:
            return loads(given)
        except ValueError:
            return given
    return given


def _item(kind: str, value: Mapping[str, object]) -> Message:
    call_id = _word(value.get("call_id"))
    if kind.endswith("_output"):
        return Message("tool", tuple(_parts(value.get("output"))), call_id=call_id)
    if kind == "reasoning":
        said = [*_parts(value.get("summary")), *_parts(value.get("content"))]
        thoughts = [Text(part.text, "thinking") if isinstance(part, Text) else part for part in said]
        return Message("assistant", tuple(thoughts) or (Attachment(_label(kind, value)),))
    return Message("assistant", (_call(value),))


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""
