"""Exceptions as recorded: what was raised, in words and exactly."""

from uuid import UUID

import psycopg

from stepwell.core.codec import Redacted, canonical, encode
from stepwell.core.codec.foreign import said
from stepwell.core.redaction import Redactor
from stepwell.errors import EncodingError, RecordingError

_TooLarge = psycopg.errors.ProgramLimitExceeded


def type_of(error: BaseException) -> str:
    """`module.Qualname`; exceptions of Python's own go without their module."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def has_ended(run_id: UUID, what: str) -> RecordingError:
    """Raised for a step that is begun after somebody said how the run ended."""
    return RecordingError(
        f"run {run_id} has ended, so {what} was neither made nor recorded; go on with it: recorder.resume('{run_id}')"
    )


def is_failure(error: BaseException | None) -> bool:
    """Whether a run that ended with this has failed. Leaving the program with status 0 is no failure."""
    return error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0))


def failure(error: BaseException, redact: Redactor | None = None) -> str:
    """JSON text of `{"type", "message", "value", "exact"}`; value and exact are the codec's of the exception."""
    value, exact = "null", "null"
    kind, message = _words(error, redact)
    try:
        encoded = encode(error if redact is None else redact(error))
        value, exact = encoded.plain, encoded.exact or "null"
    except EncodingError:
        pass  # what it holds cannot be kept; its type and its message can
    kind, message = encode(kind).plain, encode(message).plain
    return f'{{"type": {kind}, "message": {message}, "value": {value}, "exact": {exact}}}'


def _words(error: BaseException, redact: Redactor | None) -> tuple[str, str]:
    kind, message = type_of(error), said(error, str)
    if redact is None:
        return kind, message
    try:
        found = Redacted() if redact.hides("message") else redact.rewrite("message", message)
    except EncodingError:  # it is the error that counts, and it is no time to raise another
        found = Redacted()
    return kind, message if found is None else found.text


def canonical_failure(error: BaseException, redact: Redactor | None = None) -> str:
    """Equal for the same exception with the same text, as it is recorded."""
    return canonical(["error", *_words(error, redact)])


def is_too_large(error: RecordingError) -> bool:
    """Whether Postgres refused a value for its size: without it, the outcome of a step can still be recorded."""
    return isinstance(error.__cause__, _TooLarge)


def cause(error: BaseException) -> str:
    """One line that says why the database did not take something."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        words = error.diag.message_primary
        return f"{words}; JSONB holds no more than 256 MB" if isinstance(error, _TooLarge) else words
    lines = said(error, str).strip().splitlines()
    return lines[0] if lines else type_of(error)
