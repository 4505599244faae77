"""`stepwell import FILE…`: recordings of other tools into the database."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TextIO
from uuid import UUID

import psycopg

from stepwell.commands.output import emit, line, note
from stepwell.commands.session import target_of
from stepwell.core.recorded import RecordedRun
from stepwell.core.recording import run_id
from stepwell.core.spooling import BEGIN, Spooled
from stepwell.errors import EncodingError, InvalidFileError, StepwellError
from stepwell.importers import FORMATS, read
from stepwell.importers.document import printable
from stepwell.importers.spool import NAME as SPOOL
from stepwell.recorder.waiting import is_left
from stepwell.store.connect import connect
from stepwell.store.copying import import_recorded
from stepwell.store.importing import Imported, import_runs, import_spooled

QUIET_SECONDS = 0.5
"""What is done by then needs no progress shown."""
_SHOWN_IDS = 6
_ID_DIGITS = 8
"""Enough to open a run by, in a database of many."""
JSON_HELP = """\
with --json, one object a line for each file:
  file, format     the file, and the format that it has, null if none is known
  imported         ids of the runs that are new, or went on with a spool
  already_there    ids of those imported before
  steps            how many steps these runs got
  error            why nothing of this file was imported, or null
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command, without the ones that all commands share (`--dsn`)."""
    known = ", ".join(format_.title for format_ in FORMATS)
    parser.add_argument("files", nargs="+", metavar="FILE", help=f"a recording, told by its content: {known}")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Import each file by itself; 0 when all are in the database afterwards, 2 when any could not be taken.

    Raises DatabaseError where there is no database to import into.
    """
    status = 0
    with connect(target_of(args)) as connection:
        for file in args.files:
            try:
                format_name, done = import_file(connection, Path(file))
            except StepwellError as problem:
                status = 2
                _say_failed(file, problem, as_json=args.json)
            else:
                _say_done(file, format_name, done, as_json=args.json)
    return status


def import_file(connection: psycopg.Connection, path: Path) -> tuple[str, Imported]:
    """Import one file whole; its format's name and what became of its runs.

    Raises InvalidFileError or DatabaseError, and then nothing of the file is stored.
    """
    data = _bytes(path)
    reading = read(data, str(path))
    if reading.spooled is not None:
        return reading.format, _import_spooled(connection, path, reading.spooled)
    if reading.recorded is not None:
        return reading.format, _import_recorded(connection, path, reading.recorded)
    digest = sha256(data).hexdigest()
    runs = [(run_id(digest, index), run) for index, run in enumerate(reading.runs)]
    progress = Progress(sys.stderr, path.name, sum(len(run.steps) for run in reading.runs))
    try:
        done = import_runs(
            connection, runs, source=reading.format, at=datetime.now(UTC), on_step=progress.step
        )
    except EncodingError as problem:
        raise InvalidFileError(printable(f"{path}: {problem}")) from problem
    finally:
        progress.clear()
    return reading.format, done


def _import_recorded(connection: psycopg.Connection, path: Path, run: RecordedRun) -> Imported:
    progress = Progress(sys.stderr, path.name, len(run.steps))
    try:
        return import_recorded(connection, run, datetime.now(UTC), progress.step)
    finally:
        progress.clear()


def _import_spooled(connection: psycopg.Connection, path: Path, spooled: Spooled) -> Imported:
    if spooled.torn:
        note(f"stepwell: {printable(str(path))}: its last line was cut off by a crash, and is left out")
    progress = Progress(sys.stderr, path.name, sum(record.kind == BEGIN for record in spooled.records))
    try:
        done = import_spooled(connection, spooled, progress.step)
    finally:
        progress.clear()
    for number, why in done.refused.items():
        note(f"stepwell: {printable(f'{path}: line {number} is left out: {why}')}")
    return done


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        why = "no such file"
    except IsADirectoryError:
        why = "a directory; name the files in it"
    except OSError as problem:
        why = problem.strerror or str(problem)
    except ValueError:
        why = "not a name that a file can have"
    raise InvalidFileError(printable(f"{path}: {why}"))


class Progress:
    """A line that counts steps, on a terminal only, and only once it has taken a moment."""

    def __init__(
        self, stream: TextIO, name: str, total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._name = printable(name)[:40]
        self._total = total
        self._count = 0
        self._clock = clock
        self._next = clock() + QUIET_SECONDS if stream.isatty() else float("inf")
        self._width = 0

    def step(self) -> None:
        self._count += 1
        now = self._clock()
        if now < self._next:
            return
        self._next = now + 0.1
        percent = 100 * self._count // self._total
        counter = f"{self._name}: {self._count}/{self._total} steps {percent}%"
        self._write(counter)
        self._width = len(counter)

    def clear(self) -> None:
        if self._width:
            self._write(" " * self._width)
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text}")
        self._stream.flush()


def _say_done(file: str, format_name: str, done: Imported, *, as_json: bool) -> None:
    if as_json:
        _emit(file, format_name, done, None)
    elif done.new:
        there = f"; already there: {_ids(done.there)}" if done.there else ""
        counts = f"{counted(len(done.new), 'run')}, {counted(done.steps, 'step')}"
        line(f"imported {counts} from {printable(file)} ({format_name}): {_ids(done.new)}{there}")
    else:
        line(f"already there: {printable(file)} ({format_name}): {_ids(done.there)}")
    if format_name == SPOOL and not done.refused and not as_json and is_left(Path(file)):
        line(f"everything in {printable(file)} is in the database now; the file may be deleted")


def _say_failed(file: str, problem: StepwellError, *, as_json: bool) -> None:
    named = isinstance(problem, InvalidFileError)  # it begins with the file's name
    why = str(problem) if named else f"{printable(file)}: {problem}"
    if as_json:
        _emit(file, None, Imported(), why)
    else:
        note(f"stepwell: {why}")


def _emit(file: str, format_name: str | None, done: Imported, error: str | None) -> None:
    emit(
        {
            "file": file,
            "format": format_name,
            "imported": done.new,
            "already_there": done.there,
            "steps": done.steps,
            "error": error,
        }
    )


def _ids(ids: Sequence[UUID]) -> str:
    shown = " ".join(id_.hex[:_ID_DIGITS] for id_ in ids[:_SHOWN_IDS])
    return shown if len(ids) <= _SHOWN_IDS else f"{shown} and {len(ids) - _SHOWN_IDS} more"


def counted(count: int, noun: str) -> str:
    """`1 step`, `1,200 steps`"""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
