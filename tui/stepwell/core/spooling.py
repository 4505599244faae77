"""The file that a run goes to while its database takes nothing: one JSON object a line, in the order of events.

The first line says what it is: `{"stepwell_spool": 2, "run_id": …, "last": …, "at": …, "why": …}`; `last` is the last
step number that the recorder had been given, `at` the time in microseconds since 1970, `why` what the database said.
Each further line holds one record under its kind:

    open    the run begins: name, tags, started_at, seed, random, zone, connection
    resume  an existing run is taken up
    begin   a step begins: number (provisional, beyond `last`), and columns of agent_steps by their names; `sent` is an
            input under which the database may have recorded the step already
    finish  a step has its outcome: step_number, provisional or one of the database's, and columns of agent_steps
    end     the run has ended: status, finished_at, error, keep, drawn, result, result_exact

Version 1 lacks what a replay draws of chance, the lanes of steps and the result of a run; it is read all the same.
Times are microseconds since 1970; JSON payloads are text, so that they stay as they are. A field that is left out is
NULL. A last line without its end was cut off by a crash: nobody was told that it had been recorded.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from stepwell.errors import InvalidFileError

VERSION = 2
_MARK = "stepwell_spool"
BEGINNING = b'{"stepwell_spool": '
"""How every such file begins."""
OPEN, RESUME, BEGIN, FINISH, END = KINDS = ("open", "resume", "begin", "finish", "end")


class Record(NamedTuple):
    """One line: its number in the file, what it is, and its fields."""

    line: int
    kind: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Spooled:
    """What such a file holds. `torn`: its last line was cut off and is left out."""

    run_id: UUID
    last: int
    records: tuple[Record, ...]
    torn: bool = False


def header(run_id: UUID, last: int, at: int, why: str) -> bytes:
    """The first line."""
    return _line({_MARK: VERSION, "run_id": str(run_id), "last": last, "at": at, "why": why})


def record(kind: str, fields: Mapping[str, object]) -> bytes:
    """A further line."""
    return _line({kind: {name: value for name, value in fields.items() if value is not None}})


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def read(data: bytes, name: str) -> Spooled:
    """The content of the file called `name`. Raises InvalidFileError with the line that is broken."""
    lines = data.split(b"\n")
    torn = lines.pop() != b""
    if not lines:
        raise InvalidFileError(f"{name}: cut off within its first line: nothing was recorded in it")
    run_id, last = _header(_object(lines[0], 1, name), name)
    records = tuple(
        _record(_object(line, number, name), number, name) for number, line in enumerate(lines[1:], 2)
    )
    return Spooled(run_id, last, records, torn)


def _object(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not value:
        raise InvalidFileError(f"{name}: line {number}: not a JSON object")
    return value


def _header(found: Mapping[str, Any], name: str) -> tuple[UUID, int]:
    if found.get(_MARK) not in range(1, VERSION + 1):
        raise InvalidFileError(
            f"{name}: version {found.get(_MARK)!a} of the spool, and only those up to {VERSION} are known;"
            " upgrade Stepwell"
        )
    try:
        return UUID(found["run_id"]), int(found["last"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidFileError(f"{name}: line 1: no run_id, or no last step number") from None


def _record(found: Mapping[str, Any], number: int, name: str) -> Record:
    ((kind, fields), *more) = found.items()
    if more or kind not in KINDS or not isinstance(fields, dict):
        raise InvalidFileError(f"{name}: line {number}: not one of {', '.join(KINDS)}")
    return Record(number, kind, fields)
