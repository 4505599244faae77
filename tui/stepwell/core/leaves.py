"""The texts and numbers of a JSON-like value, each with where it stands; and the tool calls that a reply asks for."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stepwell.core.codec import parse
from stepwell.core.state import Path
from stepwell.errors import EncodingError

_OWNERS = ("tool_call_id", "tool_use_id", "call_id")
_ARGUMENTS = ("arguments", "args", "input")
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")
TOOL, ASSISTANT = "tool", "assistant"
_MESSAGE = frozenset(("content", "tool_calls", "parts"))
_KINDS = frozenset(
    (
        "text",
        "input_text",
        "output_text",
        "message",
        "function",
        "function_call",
        "tool_use",
        "reasoning",
        *_RESULTS,
    )
)
_ROLES = {"function": TOOL, "model": ASSISTANT, "ai": ASSISTANT}


class Leaf(NamedTuple):
    """A text, or a number as it is written. `role` is that of the message that it stands in, `owner` the id of the
    tool call whose result that is; None where nothing says so."""

    path: Path
    text: str
    role: str | None = None
    owner: str | None = None

    @property
    def name(self) -> str | None:
        """What it stands under."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), None)

    @property
    def kind(self) -> tuple[object, ...]:
        """Equal for the same text at such a place in another prompt, wherever it has moved to in a list."""
        return self.text, self.owner, tuple(part for part in self.path if isinstance(part, str))


class Call(NamedTuple):
    """A tool call that a model asks for; `path` is where in its reply."""

    path: Path
    name: str
    arguments: object
    id: str | None


def leaves(
    value: object, path: Path = (), role: str | None = None, owner: str | None = None
) -> Iterator[Leaf]:
    """Those of a value in order.

    But for true, false and null, and for what only says how a message is built: they tell nobody where they come from.
    """
    if isinstance(value, str):
        yield Leaf(path, value, role, owner)
    elif isinstance(value, dict):
        role, owner = _role(value, role), _word(value, _OWNERS) or owner
        for key, item in value.items():
            if not _is_structure(key, item, value):
                yield from leaves(item, (*path, str(key)), role, owner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index), role, owner)
    elif value is not None and not isinstance(value, bool):
        yield Leaf(path, str(value), role, owner)


def _is_structure(key: object, item: object, value: Mapping[str, object]) -> bool:
    """Whether this is the role of a message, or the kind of one of its parts."""
    return (key == "role" and not _MESSAGE.isdisjoint(value)) or (
        key == "type" and isinstance(item, str) and item in _KINDS
    )


def _role(value: Mapping[str, object], role: str | None) -> str | None:
    if value.get("type") in _RESULTS:
        return TOOL
    found = _word(value, ("role",))
    return role if found is None else _ROLES.get(found, found)


def _word(value: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    return next((found for name in names if isinstance(found := value.get(name), str)), None)


def calls(value: object, path: Path = ()) -> Iterator[Call]:
    """What looks like a tool call anywhere in a reply: something with a name and arguments."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from calls(item, (*path, index))
    if not isinstance(value, dict):
        return
    name, key = value.get("name"), next((key for key in _ARGUMENTS if key in value), None)
    if isinstance(name, str) and key is not None:
        yield Call(path, name, _read(value[key]), _word(value, ("call_id", "id")))
        return
    for key, item in value.items():
        own = _word(value, ("id",)) if key == "function" else None
        for call in calls(item, (*path, str(key))):
            yield call._replace(id=call.id or own)


def _read(arguments: object) -> object:
    if not isinstance(arguments, str):
        return arguments
    try:
        return parse(arguments)
    except (ValueError, EncodingError):
        return arguments
