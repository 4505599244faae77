"""One batch of intents: sent as few statements, committed together, answered one by one."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from psycopg import Connection, Cursor

from stepwell.core.codec import dump
from stepwell.core.loops import LoopTracker
from stepwell.core.steps import Loop
from stepwell.recorder.intents import EndRun, FinishStep, Intent, OpenRun, ResumeRun, StartStep
from stepwell.store import writing

_LOOP = tuple(part.name for part in fields(Loop))
GONE = "the run is no longer in the database"


@dataclass(slots=True)
class Book:
    """What a writer knows of one run."""

    last: int = 0
    """The last step number that this writer was given."""
    foreign: int = 0
    """Up to here there may be steps of another process that this one has not seen."""
    opened: int = 0
    """How often it was opened or resumed here and not ended: the number of locks held for it."""
    inherited: bool = False
    """Opened by the parent of this forked process; held here too from the first step on."""
    tracker: LoopTracker = field(default_factory=LoopTracker)

    def note(self, number: int) -> None:
        if number != self.last + 1:
            self.foreign = number - 1
        self.last = number


Books = dict[UUID, Book]


@dataclass(slots=True)
class _Request:
    """One statement of a batch: how to send it, and how to answer the intents once it is committed."""

    intents: Sequence[Intent]
    send: Callable[[Cursor[Any]], None]
    answer: Callable[[Cursor[Any]], list[Intent]]
    run_ids: Collection[UUID] = ()
    """The runs whose rows it locks."""


def write(
    connection: Connection[Any],
    intents: Sequence[Intent],
    books: Books,
    sent: Callable[[], None] | None = None,
) -> list[Intent]:
    """Do what the intents ask, in one transaction, and answer them. Returns those that have to be sent again.

    `sent` is called when all is on its way to the server and nothing has come back.
    Raises what psycopg raises, with nothing done and nothing answered.
    """
    _hold_inherited(connection, intents, books)
    if len(intents) == 1 and sent is None:
        intent = intents[0]
        if isinstance(intent, StartStep):
            return _start_one(connection, intent, books)
        if isinstance(intent, FinishStep):
            return _finish_one(connection, intent, books)
    requests = _requests(intents, books)
    cursors = [connection.cursor(binary=True) for _ in requests]
    if len(requests) == 1 and sent is None:
        requests[0].send(cursors[0])
    elif len(requests) == 1:
        with writing.one_trip(connection, sent):
            requests[0].send(cursors[0])
    else:
        run_ids = {run_id for request in requests for run_id in request.run_ids}
        with writing.transaction(connection, run_ids, sent):
            for request, cursor in zip(requests, cursors, strict=True):
                request.send(cursor)
    again: list[Intent] = []
    for request, cursor in zip(requests, cursors, strict=True):
        again += request.answer(cursor)
    return again


def _hold_inherited(connection: Connection[Any], intents: Sequence[Intent], books: Books) -> None:
    for intent in intents:
        if isinstance(intent, StartStep):
            book = books.get(intent.row.run_id)
            if book is not None and book.inherited:
                writing.hold_runs(connection, [intent.row.run_id])
                book.opened, book.inherited = 1, False


def _start_one(connection: Connection[Any], intent: StartStep, books: Books) -> list[Intent]:
    book = _book(books, intent.row.run_id)
    intent.sent = row = _start_row(intent, book)
    return _begun(intent, writing.start_one(connection, row), book, wary=row.known is not None)


def _finish_one(connection: Connection[Any], intent: FinishStep, books: Books) -> list[Intent]:
    _count(intent, books)
    there = writing.finish_one(connection, intent.row) or intent.resent
    intent.answer(None if there else intent.problem(GONE))
    return []


def _requests(intents: Sequence[Intent], books: Books) -> list[_Request]:
    """Finishes go before starts, so that a step that waits for another to end is seen to begin after it."""
    requests = [_opening(i, books) for i in intents if isinstance(i, OpenRun)]
    requests += [_resuming(i, books) for i in intents if isinstance(i, ResumeRun)]
    if finishes := [i for i in intents if isinstance(i, FinishStep)]:
        requests.append(_finishing(finishes, books))
    if starts := [i for i in intents if isinstance(i, StartStep)]:
        requests.append(_starting(starts, books))
    requests += [_ending(i, books) for i in intents if isinstance(i, EndRun)]
    return requests


def _opening(intent: OpenRun, books: Books) -> _Request:
    def answer(_: Cursor[Any]) -> list[Intent]:
        _book(books, intent.run_id).opened += 1
        intent.answer()
        return []

    return _Request(
        [intent],
        lambda cursor: writing.send_open(cursor, intent.run_id, intent.name, intent.tags, intent.started_at),
        answer,
    )


def _resuming(intent: ResumeRun, books: Books) -> _Request:
    def answer(cursor: Cursor[Any]) -> list[Intent]:
        if row := cursor.fetchone():
            intent.found = True
            book = _book(books, intent.run_id)
            book.opened += 1
            book.last = book.foreign = max(book.last, row[0])
        intent.answer()
        return []

    return _Request(
        [intent], lambda cursor: writing.send_resume(cursor, intent.run_id), answer, [intent.run_id]
    )


def _ending(intent: EndRun, books: Books) -> _Request:
    def answer(cursor: Cursor[Any]) -> list[Intent]:
        book = _book(books, intent.run_id)
        book.opened -= 1
        if book.opened <= 0:
            del books[intent.run_id]
        intent.answer(None if cursor.fetchone() else intent.problem(GONE))
        return []

    def send(cursor: Cursor[Any]) -> None:
        writing.send_end(cursor, intent.run_id, intent.status, intent.finished_at, intent.failure)

    return _Request([intent], send, answer, [intent.run_id])


def _finishing(intents: Sequence[FinishStep], books: Books) -> _Request:
    for intent in intents:
        _count(intent, books)

    def answer(cursor: Cursor[Any]) -> list[Intent]:
        done = set(cursor.fetchall())
        for intent in intents:
            there = intent.resent or (intent.row.run_id, intent.row.step_number) in done
            intent.answer(None if there else intent.problem(GONE))
        return []

    rows = [intent.row for intent in intents]
    return _Request(
        intents, lambda cursor: writing.send_finishes(cursor, rows), answer, {row.run_id for row in rows}
    )


def _count(intent: FinishStep, books: Books) -> None:
    """See whether this call makes a loop; once, however often the batch is sent."""
    row = intent.row
    if intent.counted or row.call_hash is None:
        return
    intent.counted = True
    tracker = _book(books, row.run_id).tracker
    loop = tracker.add(intent.agent, row.step_number, intent.name, row.call_hash)
    if loop is not None:
        intent.row = row._replace(loop=dump({name: getattr(loop, name) for name in _LOOP}))


def _starting(intents: Sequence[StartStep], books: Books) -> _Request:
    rows = [_start_row(intent, _book(books, intent.row.run_id)) for intent in intents]
    for intent, row in zip(intents, rows, strict=True):
        intent.sent = row

    def answer(cursor: Cursor[Any]) -> list[Intent]:
        again: list[Intent] = []
        # Only those that were told what is known may have been left out for that.
        wary = {row.run_id for row in rows if row.known is not None}
        for intent, number in zip(intents, writing.read_numbers(cursor, rows), strict=True):
            run_id = intent.row.run_id
            again += _begun(intent, number, _book(books, run_id), wary=run_id in wary)
        return again

    return _Request(
        intents, lambda cursor: writing.send_starts(cursor, rows), answer, {row.run_id for row in rows}
    )


def _begun(intent: StartStep, number: int | None, book: Book, *, wary: bool) -> list[Intent]:
    """Answer it with its number. Returns it where it has to be sent again, for there may be newer steps."""
    if number is not None:
        intent.number = number
        intent.answer()
        book.note(number)  # last: an interruption before it makes the book wary, and loses nothing
    elif wary:
        book.foreign = book.last + 1
        return [intent]
    else:
        intent.answer(intent.problem(GONE))
    return []


def _start_row(intent: StartStep, book: Book) -> writing.Start:
    """The row to send. A difference is sent only where nothing can have come between it and its base."""
    base, whole = intent.base, intent.whole
    if base is None or whole is None:
        return intent.row
    if base.number is None and base.error is None:
        return intent.row  # the base is in the same batch
    if base.number is None or base.number < book.foreign:
        given, output = whole()
        return intent.row._replace(
            input=given.plain,
            input_exact=given.exact,
            output=output.plain,
            output_exact=output.exact,
        )
    return intent.row._replace(known=book.last)


def _book(books: Books, run_id: UUID) -> Book:
    if (book := books.get(run_id)) is None:
        book = books[run_id] = Book()
    return book
