"""`stepwell import FILE…`: recordings of other tools into the database."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TextIO

import psycopg

from stepwell.core.recording import run_id
from stepwell.errors import EncodingError, InvalidFileError, StepwellError
from stepwell.importers import FORMATS, read
from stepwell.importers.document import printable
from stepwell.store.connect import connect, resolve
from stepwell.store.importing import Imported, import_runs

QUIET_SECONDS = 0.5
"""What is done by then needs no progress shown."""
_SHOWN_IDS = 6
_ID_DIGITS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command, without the ones that all commands share (`--dsn`)."""
    known = ", ".join(format_.title for format_ in FORMATS)
    parser.add_argument("files", nargs="+", metavar="FILE", help=f"a recording, told by its content: {known}")
    parser.add_argument("--json", action="store_true", help="one JSON object a file, each on a line")


def run(args: argparse.Namespace) -> int:
    """Import each file by itself; 0 when all are in the database afterwards, 2 when any could not be taken.

    Raises DatabaseError where there is no database to import into.
    """
    target = resolve(getattr(args, "dsn", None))
    if target.notice:
        print(target.notice, file=sys.stderr)
    status = 0
    with connect(target) as connection:
        for file in args.files:
            try:
                format_name, done = import_file(connection, Path(file))
            except StepwellError as problem:
                status = 2
                _say_failed(file, str(problem), as_json=args.json)
            else:
                _say_done(file, format_name, done, as_json=args.json)
    return status


def import_file(connection: psycopg.Connection, path: Path) -> tuple[str, Imported]:
    """Import one file whole; its format's name and what became of its runs.

    Raises InvalidFileError or DatabaseError, and then nothing of the file is stored.
    """
    data = _bytes(path)
    reading = read(data, str(path))
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
        line = f"{self._name}: {self._count}/{self._total} steps {percent}%"
        self._write(line)
        self._width = len(line)

    def clear(self) -> None:
        if self._width:
            self._write(" " * self._width)
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text}")
        self._stream.flush()


def _say_done(file: str, format_name: str, done: Imported, *, as_json: bool) -> None:
    if as_json:
        print(
            json.dumps(
                {
                    "file": file,
                    "format": format_name,
                    "imported": [str(id_) for id_ in done.new],
                    "already_there": [str(id_) for id_ in done.there],
                    "steps": done.steps,
                    "error": None,
                }
            )
        )
        return
    name = printable(file)
    if not done.new:
        print(f"already there: {name} ({format_name}): {_ids(done.there)}")
        return
    there = f"; already there: {_ids(done.there)}" if done.there else ""
    counts = f"{_counted(len(done.new), 'run')}, {_counted(done.steps, 'step')}"
    print(f"imported {counts} from {name} ({format_name}): {_ids(done.new)}{there}")


def _say_failed(file: str, why: str, *, as_json: bool) -> None:
    name = printable(file)
    if as_json:
        failed = {"imported": [], "already_there": [], "steps": 0, "error": printable(why)}
        print(json.dumps({"file": file, "format": None, **failed}))
    else:
        line = printable(why)
        print(f"stepwell: {line if line.startswith(name) else f'{name}: {line}'}", file=sys.stderr)


def _ids(ids: Sequence[object]) -> str:
    shown = " ".join(str(id_)[:_ID_DIGITS] for id_ in ids[:_SHOWN_IDS])
    return shown if len(ids) <= _SHOWN_IDS else f"{shown} and {len(ids) - _SHOWN_IDS} more"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
