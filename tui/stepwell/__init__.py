"""A time-travel debugger for AI agents. This is what an agent imports to be recorded."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepwell.errors import (
    DatabaseError,
    EncodingError,
    InvalidFileError,
    NotFoundError,
    RecordingError,
    StepwellError,
    UsageError,
)

if TYPE_CHECKING:
    from stepwell.recorder.context import current_run
    from stepwell.recorder.decorator import tool
    from stepwell.recorder.keeping import Summary, keep
    from stepwell.recorder.recorder import Recorder
    from stepwell.recorder.run import Run

__all__ = [
    "DatabaseError",
    "EncodingError",
    "InvalidFileError",
    "NotFoundError",
    "Recorder",
    "RecordingError",
    "Run",
    "StepwellError",
    "Summary",
    "UsageError",
    "current_run",
    "keep",
    "tool",
]

# The debugger, which records nothing, starts without loading the recorder.
_HOMES = {
    "Recorder": "recorder",
    "Run": "run",
    "Summary": "keeping",
    "current_run": "context",
    "keep": "keeping",
    "tool": "decorator",
}


def __getattr__(name: str) -> Any:
    """Load the recorder for the first of its names that is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"stepwell.recorder.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
