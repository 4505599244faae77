"""Search hits: where a text first appears, not every later prompt that repeats it.

A text is looked for as it reads, and as the part of a JSON text that it may be: `id=88` and `"id":88` are also
the member `"id": 88…`, and so they are in a JSON text that is itself kept as a string.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stepwell.core.steps import LLM_CALL


@dataclass(frozen=True, slots=True)
class Found:
    """A step, and whether the text is in what it was given or in what it gave."""

    number: int
    type: str
    agent: str | None
    in_input: bool
    in_output: bool
    call_hash: int | None = None
    """Equal for tool calls with the same name, arguments and result."""
    base: int | None = None
    """The step whose prompt this one holds too, apart from what was looked at."""


_TOKEN = re.compile(
    r'\s*(?P<token>"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],:=]|[^\s"{}\[\],:=]++)|\s+\Z', re.DOTALL
)
_MEMBER = re.compile(r'\s*(?P<key>"(?:[^"\\]|\\.)*+"|[^\s"{}\[\],:=]++)\s*[:=]\s*"?(?P<value>.+)', re.DOTALL)
_STRING_BEGUN = re.compile(r'"(?:[^"\\]|\\.)*+', re.DOTALL)
_COLON, _COMMA = ":", ","
MARKS = frozenset("{}[],:")
"""The tokens of a reading that are no strings, numbers or words."""


def needle(text: str) -> str:
    """The text as JSON spells it inside a string, as far as JSONB can hold it."""
    return _held(json.dumps(text, ensure_ascii=False)[1:-1])


def spellings(text: str) -> tuple[str, ...]:
    """Every way in which the text may stand in a JSON text as Postgres writes it; `needle(text)` is the first."""
    found = [needle(text)]
    for tokens in readings(text):
        spaced = _joined(tokens, ": ", ", ")
        found += [spaced, needle(spaced), needle(_joined(tokens, ":", ",")), *_set(tokens)]
    return tuple(dict.fromkeys(found))


def readings(text: str) -> list[tuple[str, ...]]:
    """The tokens of the text, read as a part of a JSON text in which something is quoted; none where it cannot be.

    Keys are quoted in them, whether they were or not, and `=` is `:`. The first token may be the end of a string,
    the last one the beginning of one. A value that is not quoted is taken for a string as well.
    """
    found = [_tokens(text)]
    if not found[0] and '"' in text and (tokens := _tokens('"' + text)):
        found = [(tokens[0][1:], *tokens[1:])]
    if member := _MEMBER.fullmatch(text):
        found.append((_key(member["key"]), _COLON, '"' + needle(member["value"])))
    return [tokens for tokens in found if any('"' in token for token in tokens)]


def _set(tokens: Sequence[str]) -> Iterator[str]:
    """A member as the change of a state that sets it (`core.state`), as long as its value is all there."""
    if len(tokens) > 2 and tokens[1] == _COLON and tokens[0].startswith('"'):
        value = _joined(tokens[2:], ": ", ", ")
        closing = '"' if _STRING_BEGUN.fullmatch(value) else ""
        yield f'{{"to": {value}{closing}, "set": [{tokens[0]}]}}'


def _tokens(text: str) -> tuple[str, ...]:
    """Empty where two values stand side by side, or a colon where JSON has none."""
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return ()
        position = match.end()
        token = match["token"]
        if token is None:
            break
        before = tokens[-1] if tokens else _COMMA
        if token in (_COLON, "="):
            if before in MARKS or tokens[-2:-1] == [_COLON]:
                return ()
            tokens[-1:] = [_key(before), _COLON]
            continue
        if token not in MARKS and before not in MARKS:
            return ()
        tokens.append(_held(token))
    return tuple(tokens)


def _key(token: str) -> str:
    return token if token.startswith('"') else f'"{needle(token)}"'


def _joined(tokens: Sequence[str], colon: str, comma: str) -> str:
    """A separator at the end stands without the blank behind it."""
    spelled = "".join({_COLON: colon, _COMMA: comma}.get(token, token) for token in tokens)
    return spelled.rstrip() if tokens[-1] in MARKS else spelled


def _held(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def folds_case(text: str) -> bool:
    """A text without capitals matches either case, as in vim's smartcase."""
    return text == text.lower()


def first_appearances(found: Iterable[Found]) -> Iterator[int]:
    """Numbers of the steps where the text is new.

    A prompt repeats what was in the same agent's previous prompt and what has been answered since; one that
    was looked at as a difference repeats its base too. A lap of a loop repeats the call before. `found` are
    all matching steps, and all model calls whether they match or not, in order.
    """
    repeated: dict[str | None, bool] = {}
    holds: dict[int, bool] = {}
    calls: set[int] = set()
    for step in found:
        if step.type == LLM_CALL:
            is_new = step.in_input and not repeated.get(step.agent, False)
            if is_new or step.in_output:
                yield step.number
            holds[step.number] = step.in_input or (step.base is not None and holds.get(step.base, False))
            repeated[step.agent] = holds[step.number] or step.in_output
        else:
            repeated[step.agent] = True
            if step.call_hash not in calls:
                yield step.number
            if step.call_hash is not None:
                calls.add(step.call_hash)
