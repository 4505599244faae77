"""What a model's reply says about itself: tokens, and why the model stopped.

Found by the names of fields, in objects or dicts: chat completions and responses of OpenAI and of what speaks
their protocol (LiteLLM), messages of Anthropic, Google genai, LangChain, Bedrock, and the chunks of each when streamed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

_TOKENS_IN = ("prompt_tokens", "input_tokens", "prompt_token_count", "inputTokens")
_TOKENS_OUT = ("completion_tokens", "output_tokens", "candidates_token_count", "outputTokens")
# Anthropic counts what it read from or wrote to its cache apart from the other input.
_ALSO_IN = ("cache_read_input_tokens", "cache_creation_input_tokens")
# Google counts what the model thought apart from what it said.
_ALSO_OUT = ("thoughts_token_count",)
_REASONS = ("finish_reason", "stop_reason", "stopReason")
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Usage:
    """None for what the reply does not say. `finish_reason` is in the words of the API."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str | None = None


NOTHING = Usage()


def usage_of(reply: object) -> Usage:
    """The usage that a reply, or one chunk of it, reports. Never raises."""
    try:
        return _usage(reply)
    except Exception:  # attributes of foreign objects are foreign code, which may raise anything
        return NOTHING


def usage_of_chunks(chunks: Iterable[object]) -> Usage:
    """The usage that the chunks of a streamed reply report: of each number the last that was given."""
    found = NOTHING
    for chunk in chunks:
        new = usage_of(chunk)
        if new is not NOTHING:
            found = Usage(
                found.tokens_in if new.tokens_in is None else new.tokens_in,
                found.tokens_out if new.tokens_out is None else new.tokens_out,
                new.finish_reason or found.finish_reason,
            )
    return found


def _usage(reply: object) -> Usage:
    if reply is None or isinstance(reply, str | bytes | int | float | list | tuple):
        return NOTHING
    for envelope in ("response", "message"):  # the events `response.completed` and `message_start`
        inner = _get(reply, envelope)
        if _get(inner, "usage") is not None:
            reply = inner
            break
    counts = _get(reply, "usage")
    if counts is None:
        counts = _get(reply, "usage_metadata")
    tokens_in = tokens_out = None
    if counts is not None:
        # A chunk that counts only the output must not hide the input counted before.
        tokens_in = _count(counts, _TOKENS_IN, _ALSO_IN)
        tokens_out = _count(counts, _TOKENS_OUT, _ALSO_OUT)
    reason = _reason(reply)
    if tokens_in is None and tokens_out is None and reason is None:
        return NOTHING
    return Usage(tokens_in, tokens_out, reason)


def _get(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return value.get(name)
    return getattr(value, name, None)


def _count(counts: object, names: Sequence[str], also: Sequence[str]) -> int | None:
    found = next((n for name in names if (n := _integer(_get(counts, name))) is not None), None)
    if found is None:
        return None
    total = found + sum(_integer(_get(counts, name)) or 0 for name in also)
    return total if 0 <= total <= _LARGEST else None


def _integer(value: object) -> int | None:
    return value if type(value) is int else None


def _reason(reply: object) -> str | None:
    incomplete = _text(_get(_get(reply, "incomplete_details"), "reason"))
    if incomplete:
        return incomplete
    places = [reply, _get(reply, "delta"), _get(reply, "response_metadata")]
    for several in ("choices", "candidates"):
        first = _get(reply, several)
        if isinstance(first, list | tuple) and first:
            places.append(first[0])
    for place in places:
        for name in _REASONS:
            if reason := _text(_get(place, name)):
                return reason
    # Responses have a status instead; other objects use that word for other things.
    return _text(_get(reply, "status")) if _get(reply, "object") == "response" else None


def _text(value: object) -> str | None:
    if isinstance(value, Enum):
        value = value.name
    return value if isinstance(value, str) and value else None
