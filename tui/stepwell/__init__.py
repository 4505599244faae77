"""A time-travel debugger for AI agents. This is what an agent imports to be recorded."""

from stepwell.errors import (
    DatabaseError,
    EncodingError,
    InvalidFileError,
    NotFoundError,
    RecordingError,
    StepwellError,
    UsageError,
)
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
