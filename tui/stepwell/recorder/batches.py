"""One batch of intents: its steps sent as one statement, committed together, answered one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from psycopg import Connection

from stepwell.core.codec import dump
from stepwell.core.loops import LoopTracker
from stepwell.core.steps import Loop
from stepwell.recorder.intents import Beat, EndRun, Errand, FinishStep, Intent, OpenRun, ResumeRun, StartStep
from stepwell.recorder.outcomes import Outcomes
from stepwell.store import writing
from stepwell.store.pooled import is_pooled
from stepwell.store.rows import Start

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
    guarded: bool = False
    """Whether no step is begun unless `last` is the last: one that was thought lost may arrive late behind a pooler."""
    lost: range | None = None
    """Numbers of steps that this writer was given by a server whose place another took, which has not got them."""
    tracker: LoopTracker = field(default_factory=LoopTracker)

    def note(self, number: int) -> None:
        if number != self.last + 1:
            self.foreign = number - 1
            self.guarded = False  # others record into the run as well
        self.last = number


Books = dict[UUID, Book]


def write(
    connection: Connection[Any],
    intents: Sequence[Intent],
    books: Books,
    outcomes: Outcomes,
    sent: Callable[[], None] | None = None,
) -> list[Intent]:
    """Do what the intents ask and answer them, all steps in one commit. Returns those that have to be sent again.

    `outcomes` keeps those that need not be on the disk yet.
    `sent` is called when the steps are on their way to the server and nothing has come back.
    Raises what psycopg raises; what has been answered by then is done, and the rest is not.
    """
    _hold_inherited(connection, intents, books)
    finishes = [intent for intent in intents if isinstance(intent, FinishStep)]
    starts = [intent for intent in intents if isinstance(intent, StartStep)]
    if len(finishes) + len(starts) == len(intents):
        return _write_steps(connection, finishes, starts, books, outcomes, sent)
    if sent is not None:
        sent()  # this takes a trip for each
    for intent in intents:
        if isinstance(intent, OpenRun):
            _open(connection, intent, books)
        elif isinstance(intent, ResumeRun):
            _resume(connection, intent, books)
        elif isinstance(intent, Beat):
            _beat(connection, books)
            intent.answer()
    again = _write_steps(connection, finishes, starts, books, outcomes, None)
    for intent in intents:
        if isinstance(intent, EndRun):
            _end(connection, intent, books)
            outcomes.are_on_disk(connection)
        elif isinstance(intent, Errand):
            intent.result = intent.do(connection)
            intent.answer()
    return again


def _hold_inherited(connection: Connection[Any], intents: Sequence[Intent], books: Books) -> None:
    for intent in intents:
        if isinstance(intent, StartStep):
            book = books.get(intent.row.run_id)
            if book is not None and book.inherited:
                writing.hold_runs(connection, [intent.row.run_id])
                book.opened, book.inherited = 1, False


def _open(connection: Connection[Any], intent: OpenRun, books: Books) -> None:
    writing.open_run(connection, intent.row)
    book = book_of(books, intent.run_id)
    book.opened += 1
    book.guarded = is_pooled(connection)
    intent.answer()


def _resume(connection: Connection[Any], intent: ResumeRun, books: Books) -> None:
    row = intent.row = writing.resume_run(connection, intent.run_id)
    if row is not None:
        intent.found = True
        if intent.run_id not in books:  # go on with the loops that its recorder was in
            for agent, number, name, call_hash in writing.read_calls(connection, intent.run_id):
                book_of(books, intent.run_id).tracker.add(agent, number, name, call_hash)
        book = book_of(books, intent.run_id)
        book.opened += 1
        book.last = book.foreign = max(book.last, row.steps)
        book.guarded = is_pooled(connection)
    intent.answer()


def _end(connection: Connection[Any], intent: EndRun, books: Books) -> None:
    there = writing.end_run(connection, intent.row)
    book = book_of(books, intent.run_id)
    book.opened -= 1
    if book.opened <= 0:
        del books[intent.run_id]
    intent.answer(None if there else intent.problem(GONE))


def _beat(connection: Connection[Any], books: Books) -> None:
    """Show that the runs are alive, where no lock does."""
    if is_pooled(connection):
        writing.hold_runs(connection, [run_id for run_id, book in books.items() if book.opened > 0])


def _write_steps(
    connection: Connection[Any],
    finishes: Sequence[FinishStep],
    starts: Sequence[StartStep],
    books: Books,
    outcomes: Outcomes,
    sent: Callable[[], None] | None,
) -> list[Intent]:
    """By the statement that is least work."""
    for finish in finishes:
        count_call(finish, books)
    lazily = not starts and outcomes.may_wait(connection, finishes)
    if len(finishes) + len(starts) > 1:
        again = _write_many(connection, finishes, starts, books, sent, lazily=lazily)
    elif finishes:
        there = writing.finish_step(connection, finishes[0].row_now, sent, lazily=lazily)
        again = _ended(finishes[0], there, wary=False)
    else:
        again = [] if not starts else _write_start(connection, starts[0], books, sent)
    if lazily:
        outcomes.keep(connection, finishes)
    else:
        outcomes.are_on_disk(connection)
    return again


def _write_start(
    connection: Connection[Any], start: StartStep, books: Books, sent: Callable[[], None] | None
) -> list[Intent]:
    book = book_of(books, start.row.run_id)
    row = start.sent = _start_row(start, book)
    number = writing.start_step(connection, row, sent)
    return _begun(start, number, book, wary=row.known is not None)


def _write_many(
    connection: Connection[Any],
    finishes: Sequence[FinishStep],
    starts: Sequence[StartStep],
    books: Books,
    sent: Callable[[], None] | None,
    *,
    lazily: bool,
) -> list[Intent]:
    mine = [book_of(books, start.row.run_id) for start in starts]
    rows = list(map(_start_row, starts, mine))
    for start, row in zip(starts, rows, strict=True):
        start.sent = row
    done, numbers = writing.write_steps(
        connection, [finish.row_now for finish in finishes], rows, sent, lazily=lazily
    )
    # Only those that were told what is known may have been left out for that, and the others of their run with them.
    wary = {row.run_id for row in rows if row.known is not None}
    again: list[Intent] = []
    for finish, there in zip(finishes, done, strict=True):
        again += _ended(finish, there, wary=bool(wary) and finish.row.run_id in wary)
    for start, number, book in zip(starts, numbers, mine, strict=True):
        again += _begun(start, number, book, wary=bool(wary) and start.row.run_id in wary)
    return again


def count_call(intent: FinishStep, books: Books) -> None:
    """See whether this call makes a loop; once, however often the batch is sent."""
    row = intent.row
    if intent.counted or row.call_hash is None:
        return
    intent.counted = True
    tracker = book_of(books, row.run_id).tracker
    loop = tracker.add(intent.agent, row.step_number, intent.name, row.call_hash)
    if loop is not None:
        intent.row = row._replace(loop=dump({name: getattr(loop, name) for name in _LOOP}))


def _ended(intent: FinishStep, there: bool, *, wary: bool) -> list[Intent]:
    """Answer it. Returns it where it has to be sent again, for its run may have newer steps."""
    if wary and not there and not intent.resent:
        return [intent]
    intent.answer(None if there or intent.resent else intent.problem(GONE))
    return []


def _begun(intent: StartStep, number: int | None, book: Book, *, wary: bool) -> list[Intent]:
    """Answer it with its number. Returns it where it has to be sent again, for there may be newer steps."""
    if number is not None:
        intent.number = number
        intent.answer()
        book.note(number)  # last: an interruption before it makes the book wary, and loses nothing
    elif wary:
        book.foreign, book.guarded = book.last + 1, False
        return [intent]
    else:
        intent.answer(intent.problem(GONE))
    return []


def _start_row(intent: StartStep, book: Book) -> Start:
    """The row to send. A difference is sent only where nothing can have come between it and its base."""
    base, whole = intent.base, intent.whole
    if base is None or whole is None:
        row = intent.row_now if not book.lost else _without_lost_base(intent, book.lost)
        return row._replace(known=book.last) if book.guarded else row
    if base.number is None and base.error is None:
        return intent.row_now  # the base is in the same batch
    if base.number is None or base.number < book.foreign:
        given, output = whole()
        return intent.row_now._replace(
            input=given.plain,
            input_exact=given.exact,
            output=output.plain,
            output_exact=output.exact,
        )
    return intent.row_now._replace(known=book.last)


def _without_lost_base(intent: StartStep, lost: range) -> Start:
    row, full = intent.row_now, intent.full
    if full is None or row.input_base not in lost:
        return row
    row = row._replace(input=full.plain, input_exact=full.exact)
    return row._replace(input_base=None, input_keep=None, input_list=None, input_removed=None)


def book_of(books: Books, run_id: UUID) -> Book:
    """The book of a run, a new one where there is none."""
    if (book := books.get(run_id)) is None:
        book = books[run_id] = Book()
    return book
