"""A time-travel debugger for AI agents. This is what an agent imports to be recorded."""

import sys
from importlib import import_module
from types import ModuleType
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
    from stepwell.rerun.files import replay_file
    from stepwell.rerun.replaying import replay
    from stepwell.rerun.stops import Diverged, Refused

__all__ = [
    "DatabaseError",
    "Diverged",
    "EncodingError",
    "InvalidFileError",
    "NotFoundError",
    "Recorder",
    "RecordingError",
    "Refused",
    "Run",
    "StepwellError",
    "Summary",
    "UsageError",
    "current_run",
    "keep",
    "replay",
    "replay_file",
    "tool",
]

# The debugger, which records nothing, starts without loading the recorder, and a recorder without what replays.
_HOMES = {
    "Diverged": "rerun.stops",
    "Recorder": "recorder.recorder",
    "Refused": "rerun.stops",
    "Run": "recorder.run",
    "Summary": "recorder.keeping",
    "current_run": "recorder.context",
    "keep": "recorder.keeping",
    "replay": "rerun.replaying",
    "replay_file": "rerun.files",
    "tool": "recorder.decorator",
}


def __getattr__(name: str) -> Any:
    """Load what a name is of when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"stepwell.{_HOMES[name]}"), name)
    return found


class _Package(ModuleType):
    """Keeps `replay` for the function: Python would put the package of that name there whenever it is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "replay" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
