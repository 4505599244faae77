"""Recordings in files."""

import os
from pathlib import Path

from stepwell.core import cassette
from stepwell.core.codec import parse, redacted_names
from stepwell.core.recorded import RecordedRun
from stepwell.errors import NotFoundError

ENDING = ".stepwell"
"""What the names of recordings end with, before `.json`."""
PACKED = ".gz"


def load(path: Path) -> RecordedRun:
    """The run in a file. Raises NotFoundError, InvalidFileError."""
    try:
        return cassette.unpack(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise NotFoundError(
            f"{path}: no such file; write it: stepwell export RUN {path.name}, or RUN --pytest FILE"
        ) from None


def save(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. Raises OSError."""
    path = path.resolve()
    part = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with open(part, "xb") as file:
            file.write(data)
        if path.exists():
            part.chmod(path.stat().st_mode & 0o777)
        part.replace(path)
    finally:  # an interrupt too leaves nothing behind
        part.unlink(missing_ok=True)


def redacted(run: RecordedRun) -> tuple[str, ...]:
    """Names that what was left out of a run stands under; an empty text for a whole value."""
    texts = [(step.payload.input_exact, step.payload.output_exact) for step in run.steps]
    exact = [text for both in texts for text in both if text is not None and '"redacted"' in text]
    return tuple(sorted({name for text in exact for name in redacted_names(parse(text))}))
