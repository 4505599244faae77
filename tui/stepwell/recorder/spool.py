"""Where runs go whose database takes nothing: a file for each, on disk before the agent goes on."""

import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

from stepwell.core import spooling
from stepwell.core.spooling import BEGIN, END, FINISH, OPEN, RESUME
from stepwell.recorder import clock, waiting
from stepwell.recorder.batches import Book, Books, book_of, count_call
from stepwell.recorder.chance import own_uuid
from stepwell.recorder.intents import EndRun, FinishStep, Intent, OpenRun, ResumeRun, StartStep

log = logging.getLogger("stepwell")


class SpoolFile:
    """The file of one run. What is appended is whole and on disk, or not there at all."""

    def __init__(self, folder: Path, run_id: UUID, last: int, why: str) -> None:
        """Raises OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / f"{run_id}-{os.getpid()}-{own_uuid().hex[:8]}.jsonl"
        self.last = self.number = last
        """The last number that the database gave, and the last one that was given here."""
        self.stuck = False
        """Whether the database has refused the file for good."""
        self._size = 0
        self._file = os.open(
            self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        waiting.hold(self._file)
        try:
            self.append(spooling.header(run_id, last, clock.now(), why))
            _sync(folder)
        except OSError:
            self.remove()
            raise

    def append(self, data: bytes) -> None:
        """Raises OSError, and then nothing of it is in the file."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def remove(self) -> None:
        """The file is in the database now, or of no use."""
        self.close()
        with contextlib.suppress(OSError):
            self.path.unlink()


class Spool:
    """The files of a recorder, and what the numbers in those that the database has taken since have become."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[UUID, SpoolFile] = {}
        """Of runs that are in a file now."""
        self._numbers: dict[UUID, dict[int, int | None]] = {}

    def __bool__(self) -> bool:
        """Whether there is anything to look after."""
        return bool(self.files or self._numbers)

    def after_fork(self) -> None:
        """In the child: the files are the parent's, and its steps in there have no numbers that the child knows."""
        for run_id, file in self.files.items():
            unknown = dict.fromkeys(range(file.last + 1, file.number + 1))
            self._numbers[run_id] = {**self._numbers.get(run_id, {}), **unknown}
            file.close()
        self.files = {}

    def take(self, intents: Sequence[Intent], books: Books, why: str) -> None:
        """Put the intents on disk and answer them; why the database does not take them is for those who look there.

        Where the disk does not take them either, they fail with both causes.
        """
        for run_id in dict.fromkeys(run_of(intent) for intent in intents):
            mine = [intent for intent in intents if run_of(intent) == run_id]
            if run_id is None:  # what can be done without
                for intent in mine:
                    intent.settle(intent.problem(why))
                continue
            try:
                self._take(run_id, mine, books, why)
            except OSError as error:
                for intent in mine:
                    words = f"{error.strerror or error}: {error.filename or self._folder}"
                    problem = intent.problem(f"{why}; nor can it be spooled: {words}")
                    problem.__cause__ = error
                    intent.settle(problem)

    def _take(self, run_id: UUID, intents: Sequence[Intent], books: Books, why: str) -> None:
        book = book_of(books, run_id)
        if (file := self.files.get(run_id)) is None:
            file = SpoolFile(self._folder, run_id, book.last, why)
            file.number = max((file.number, *self._numbers.get(run_id, ())))
            log.warning(
                "the database does not take run %s (%s): it goes to %s and from there to the database when that is"
                " back; or by hand: stepwell import FILE", run_id, why, file.path,
            )  # fmt: skip
            self.files[run_id] = file
        number = file.number
        lines: list[bytes] = []
        for intent in intents:
            if isinstance(intent, StartStep):
                number += 1
            lines.append(_record(intent, number, books))
        file.append(b"".join(lines))
        for intent in intents:
            if isinstance(intent, StartStep):
                file.number += 1
                intent.number = file.number
            _note(intent, book, books)
            intent.settle()

    def waiting(self) -> list[UUID]:
        """The runs whose files the database may take when it is back."""
        return [run_id for run_id, file in self.files.items() if not file.stuck]

    def give_up(self, run_id: UUID, why: str) -> None:
        """The run's file is of no use to the database as it is, and is for somebody to look at."""
        file = self.files[run_id]
        file.stuck = True
        log.error("run %s stays in %s: %s", run_id, file.path, why)

    def forget(self, run_id: UUID, numbers: Mapping[int, int], *, keep: bool) -> None:
        """The run is in the database, its steps under these numbers; `keep` its file for what is not."""
        file = self.files.pop(run_id)
        if keep:
            file.close()
        else:
            file.remove()
        if changed := {old: new for old, new in numbers.items() if old != new}:
            self._numbers[run_id] = {**self._numbers.get(run_id, {}), **changed}

    def renumber(self, intent: Intent) -> None:
        """Have the row name steps of this recorder as the database does. Once for each intent."""
        numbers = self._numbers.get(run_of(intent) or _NO_RUN)
        if not numbers:
            return
        if isinstance(intent, StartStep):
            row = intent.row
            intent.row = row._replace(
                parent_step=_renumbered(numbers, row.parent_step),
                input_base=_renumbered(numbers, row.input_base),
            )
        elif isinstance(intent, FinishStep):
            number = _renumbered(numbers, intent.row.step_number)
            if number is None:
                intent.settle(
                    intent.problem("it was begun by the parent of this forked process and is in its spool")
                )
            else:
                intent.row = intent.row._replace(step_number=number)

    def own(self, intent: StartStep) -> None:
        """The step has its number from the database: in a forked child no step of the parent's is called so now."""
        if self._numbers.get(intent.row.run_id, {}).get(intent.number or 0, 0) is None:
            del self._numbers[intent.row.run_id][intent.number or 0]

    def end(self, run_id: UUID) -> None:
        """The run has ended, and nothing of it is still to come from here."""
        if run_id not in self.files:
            self._numbers.pop(run_id, None)


_NO_RUN = UUID(int=0)


def run_of(intent: Intent) -> UUID | None:
    """The run that an intent is about."""
    if isinstance(intent, StartStep | FinishStep):
        return intent.row.run_id
    if isinstance(intent, OpenRun | ResumeRun | EndRun):
        return intent.run_id
    return None


def _renumbered(numbers: Mapping[int, int | None], number: int | None) -> int | None:
    return number if number is None else numbers.get(number, number)


def _record(intent: Intent, number: int, books: Books) -> bytes:
    if isinstance(intent, StartStep):
        return spooling.record(BEGIN, {"number": number, **_whole(intent)})
    if isinstance(intent, FinishStep):
        count_call(intent, books)
        return spooling.record(FINISH, _fields(intent.row._asdict()))
    if isinstance(intent, OpenRun):
        return spooling.record(OPEN, _fields(intent.row._asdict()))
    if isinstance(intent, EndRun):
        return spooling.record(END, _fields(intent.row._asdict()))
    return spooling.record(RESUME, {})


def _whole(intent: StartStep) -> dict[str, object]:
    """The row without a base that other processes may have left behind by the time it gets to the database."""
    row = intent.row
    sent = None if intent.sent is None or intent.sent.input == row.input else intent.sent.input
    if intent.whole is not None:
        given, output = intent.whole()
        sent = sent or (row.input if intent.sent is not None else None)
        row = row._replace(
            input=given.plain, input_exact=given.exact, output=output.plain, output_exact=output.exact
        )
    return {**_fields(row._asdict()), "sent": sent}


def _fields(row: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in ("run_id", "known", "seen")}


def _note(intent: Intent, book: Book, books: Books) -> None:
    """Keep the books as if it had gone to the database."""
    if isinstance(intent, OpenRun | ResumeRun):
        book.opened += 1
        if isinstance(intent, ResumeRun):
            intent.found = True
    elif isinstance(intent, EndRun):
        book.opened -= 1
        if book.opened <= 0:
            books.pop(intent.run_id, None)


def _sync(folder: Path) -> None:
    """Have a new file's name on disk too."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
