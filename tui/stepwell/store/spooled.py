"""A run that went to a file while its database took nothing: put into the database as if it had gone there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import Connection

from stepwell.core.codec import dump, parse
from stepwell.core.recording import storable
from stepwell.core.spooling import BEGIN, END, FINISH, OPEN, RESUME, Record, Spooled
from stepwell.errors import InvalidFileError, NotFoundError
from stepwell.store import writing
from stepwell.store.origins import columns_of
from stepwell.store.queries import query
from stepwell.store.rows import NOT_NOW, Ended, Finish, Opened, Start

# What the server says of a value and not of its own condition: about data, constraints and limits.
_OF_THE_ROW = ("22", "23", "54")
_MATCHED = ("step_type", "agent", "name", "started_at", "input", "sent")


@dataclass(slots=True)
class Continued:
    """What became of a file's run."""

    numbers: dict[int, int] = field(default_factory=dict)
    """The numbers of the file's steps in the database, by those in the file."""
    begun: int = 0
    """Steps that were not there before."""
    changed: bool = False
    """Whether anything was not there before."""
    refused: dict[int, str] = field(default_factory=dict)
    """Lines whose content the server does not take, and its words; the rest is there.

    A step keeps its number, and has these words as its input; one without its outcome stays in doubt; a run ends
    without its result.
    """


def concerns_row(error: BaseException) -> bool:
    """Whether the error is about the values of one row, which no other state of the server would take either."""
    if not isinstance(error, psycopg.Error):
        return True
    return (error.sqlstate or "").startswith(_OF_THE_ROW)


def continue_run(
    connection: Connection[Any], spooled: Spooled, on_step: Callable[[], None] = lambda: None
) -> Continued:
    """Record what is in the file and not in the database yet, in one transaction.

    Its steps get the next numbers of the run. Doing it again changes nothing. Raises NotFoundError where the run is
    not in this database and did not begin in the file, InvalidFileError for records that make no sense, and what
    psycopg raises.
    """
    refused: dict[int, str] = {}
    while True:
        work = _Work(connection, spooled, Continued(refused=dict(refused)))
        try:
            with connection.transaction():
                work.do(on_step)
        except psycopg.Error as error:
            if not work.may_be_left_out or not concerns_row(error):
                raise
            refused[work.line] = error.diag.message_primary or str(error)
        except (TypeError, KeyError, ValueError) as error:
            raise InvalidFileError(
                f"line {work.line} of the spool of run {spooled.run_id}: {error}"
            ) from error
        else:
            return work.done


class _Work:
    """One attempt."""

    def __init__(self, connection: Connection[Any], spooled: Spooled, done: Continued) -> None:
        self._connection, self._spooled, self.done = connection, spooled, done
        self.line = 0
        """The line that is being written."""
        self.may_be_left_out = False

    def do(self, on_step: Callable[[], None]) -> None:
        records = self._spooled.records
        self._open(records)
        begins = [record for record in records if record.kind == BEGIN]
        self.done.numbers = self._there(begins)
        resumed = max((record.line for record in records if record.kind == RESUME), default=0)
        # Of what is there already, no end is written again that was taken back by a later line.
        anew = self.done.changed or len(self.done.numbers) < len(begins)
        for record in records:
            self.line = record.line
            why = self.done.refused.get(record.line)
            self.may_be_left_out = why is None and record.kind in (BEGIN, FINISH, END)
            if record.kind == BEGIN:
                self._begin(record.fields if why is None else _refused(record.fields, why))
                on_step()
            elif record.kind == FINISH and why is None:
                self._finish(record.fields)
            elif record.kind == RESUME and anew:
                self._run_once("reopen_run", {})
            elif record.kind == END and (anew or record.line > resumed):
                self._end(record.fields if why is None else _without_result(record.fields))

    def _open(self, records: Sequence[Record]) -> None:
        """See that the run is there, and that nobody else writes to it meanwhile."""
        for record in records:
            if record.kind == OPEN:
                given = {**dict.fromkeys(Opened._fields), **record.fields}
                given["started_at"] = writing.moment(given["started_at"])
                self._run_once("begin_spooled_run", {**given, **columns_of(self._connection)})
        if not writing.await_runs(self._connection, [self._spooled.run_id]):
            raise NotFoundError(
                f"run {self._spooled.run_id}, which this file goes on with, is not in database"
                f" {self._connection.info.dbname}; name the one that it was recorded to with --dsn"
            )

    def _run_once(self, name: str, row: Mapping[str, object]) -> None:
        done = self._connection.execute(query(name), {**row, "run_id": self._spooled.run_id})
        self.done.changed |= done.rowcount > 0

    def _there(self, begins: Sequence[Record]) -> dict[int, int]:
        """Numbers of the steps that are in the database already."""
        columns: dict[str, Any] = {name: [record.fields.get(name) for record in begins] for name in _MATCHED}
        columns["started_at"] = [writing.moment(at) for at in columns["started_at"]]
        given = {**columns, "run_id": self._spooled.run_id, "after": self._spooled.last}
        found: dict[int, int] = {}
        taken: set[int] = set()
        self._connection.execute(query("set_hashing"), {"hashing": "on"})
        rows = self._connection.execute(query("find_spooled_steps"), given).fetchall()
        self._connection.execute(query("set_hashing"), {"hashing": "off"})
        for position, number in rows:
            provisional = begins[position - 1].fields["number"]
            if provisional not in found and number not in taken:
                found[provisional] = number
                taken.add(number)
        return found

    def _begin(self, fields: Mapping[str, Any]) -> None:
        given = {name: value for name, value in fields.items() if name not in ("number", "sent")}
        if fields["number"] in self.done.numbers:
            return
        row: dict[str, Any] = {
            **dict.fromkeys(Start._fields),
            **given,
            "run_id": self._spooled.run_id,
            "known": None,
            "seen": NOT_NOW,
        }
        for name in ("parent_step", "input_base"):
            row[name] = self._number(row[name])
        number = writing.start_step(self._connection, Start(**row))
        assert number is not None, "its run is locked"
        self.done.numbers[fields["number"]] = number
        self.done.begun += 1
        self.done.changed = True

    def _finish(self, fields: Mapping[str, Any]) -> None:
        number = self._number(fields["step_number"])
        if number is None:
            raise ValueError(f"no step {fields['step_number']} has begun")
        row: dict[str, Any] = {**dict.fromkeys(Finish._fields), **fields}
        row |= {"run_id": self._spooled.run_id, "step_number": number, "seen": NOT_NOW}
        if (loop := fields.get("loop")) is not None:
            row["loop"] = self._loop(loop)
        self.done.changed |= writing.finish_step(self._connection, Finish(**row))

    def _loop(self, text: str) -> str:
        loop: Any = parse(text)
        return dump(loop | {name: self._number(loop[name]) or loop[name] for name in ("first", "last")})

    def _end(self, fields: Mapping[str, Any]) -> None:
        row = {**dict.fromkeys(Ended._fields), **fields}
        row |= {"finished_at": writing.moment(fields["finished_at"])}
        row |= {"last": self._spooled.last, "own": list(self.done.numbers.values())}
        self._run_once("end_spooled_run", row)

    def _number(self, number: int | None) -> int | None:
        """The number in the database of a step as the file calls it."""
        if number is None or number <= self._spooled.last:
            return number
        return self.done.numbers.get(number)


def _refused(fields: Mapping[str, Any], why: str) -> dict[str, Any]:
    """In place of a step whose content the server does not take: the steps after it go by their numbers."""
    kept = ("number", "step_type", "agent", "name", "parent_step", "started_at", "lane", "drawn")
    row = {name: fields[name] for name in kept if name in fields}
    output = "null" if fields.get("output") is not None else None
    return row | {"input": dump({"refused": storable(why)}), "output": output}


def _without_result(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in ("result", "result_exact")}
