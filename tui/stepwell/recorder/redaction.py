"""`Recorder(redact=…)`: what the option may be, and what is read of a reply that was redacted."""

from collections.abc import Iterable, Mapping, Sequence

from stepwell.core.codec import Encoded, parse
from stepwell.core.redaction import Redactor, Rewrite
from stepwell.core.usage import NOTHING, Usage, usage_of, usage_of_chunks
from stepwell.errors import UsageError
from stepwell.recorder.functions import takes

Redact = str | Rewrite | Sequence[str | Rewrite]
"""A shell pattern of names, a function of a name and a text, or several of both."""


def redactor(given: Redact | None) -> Redactor | None:
    """What does the option's work; None where there is nothing to do. Raises UsageError for anything else."""
    if given is None:
        return None
    several: Iterable[object] = [given] if isinstance(given, str) or callable(given) else given
    if isinstance(given, bytes | Mapping) or not isinstance(several, Iterable):
        raise UsageError(_WRONG)
    patterns: list[str] = []
    rewrites: list[Rewrite] = []
    for one in several:
        if isinstance(one, str) and one:
            patterns.append(one)
        elif callable(one):
            if not takes(one, 2):
                raise UsageError(f"a redact function takes a name and a text, which {one!r} cannot")
            rewrites.append(one)
        else:
            raise UsageError(_WRONG)
    return Redactor(patterns, rewrites) if patterns or rewrites else None


_WRONG = (
    'redact takes shell patterns of names ("*password*"), functions of a name and a text, or a list of these'
)


def recorded_usage(encoded: Encoded | None, streamed: bool) -> Usage:
    """What a reply says about itself, as far as it is recorded."""
    if encoded is None:
        return NOTHING
    said = parse(encoded.plain)
    if streamed and isinstance(said, dict):
        return usage_of_chunks(said["chunks"])
    return usage_of(said)
