"""Long prompts put together again, from the row of a step and those that it is a difference to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from stepwell.core.codec import encode, hold, parse
from stepwell.core.steps import Payload, Stored
from stepwell.errors import EncodingError


class Whole(NamedTuple):
    """An input as if it had been stored whole; or the difference as it is stored, and in words why that is all."""

    plain: str | None
    exact: str | None
    problem: str | None = None


class _DoesNotFitError(Exception):
    """A difference cannot be one to its base; the text says why."""


def with_bases(own: Stored, rows: Mapping[int, Stored]) -> list[Stored]:
    """A row, then the base of each one before, as far as they are among `rows`, by their numbers."""
    chain = [own]
    while (base := chain[-1].base) is not None and base < chain[-1].number and base in rows:
        chain.append(rows[base])
    return chain


def put_together(chain: Sequence[Stored]) -> Whole:
    """The input of the first row. Each of the others is the base of the one before it. Never raises, never guesses."""
    own, last = chain[0], chain[-1]
    if own.base is None:
        return Whole(own.plain, own.exact)
    try:
        if last.base is not None:
            where = "is not there" if last.base < last.number else "is not before it"
            raise _DoesNotFitError(f"step {last.number} is a difference to step {last.base}, which {where}")
        value: object = None
        for row in reversed(chain):
            part = _held(row)
            value = part if row is last else _applied(value, part, row)
        encoded = encode(value)
    except _DoesNotFitError as problem:
        return Whole(own.plain, own.exact, f"only what is new in it: {problem}")
    except (EncodingError, ValueError) as problem:
        return Whole(own.plain, own.exact, f"only what is new in it: {problem}")
    return Whole(encoded.plain, encoded.exact)


def _held(row: Stored) -> object:
    """The value of a row in which every object is a stand-in that encodes to what the object did. Imports nothing."""
    if row.unread is not None:
        raise _DoesNotFitError(
            f"step {row.number}, which holds its beginning, is too large to be read on each move"
        )
    if row.plain is None:
        raise _DoesNotFitError(f"step {row.number} has no input")
    try:
        return hold(parse(row.plain), None if row.exact is None else parse(row.exact))
    except EncodingError as problem:
        raise EncodingError(f"step {row.number}: {problem}") from problem


def _applied(base: object, part: object, row: Stored) -> dict[str, Any]:
    """The value of a row that holds `part`, a difference to `base`."""
    where = f"step {row.number} and step {row.base}"
    if not isinstance(base, dict) or not isinstance(part, dict) or not row.list or row.keep is None:
        raise _DoesNotFitError(f"{where} do not fit each other")
    old, new = base.get(row.list), part.get(row.list)
    removed = parse(row.removed) if row.removed is not None else []
    if not isinstance(old, list) or not isinstance(new, list) or not isinstance(removed, list):
        raise _DoesNotFitError(f"{where} do not fit each other")
    dropped = {index for index in removed if type(index) is int}
    kept = [item for index, item in enumerate(old) if index not in dropped] if dropped else old
    if not 0 <= row.keep <= len(kept):
        raise _DoesNotFitError(f"of step {row.base} it keeps {row.keep} items, and there are {len(kept)}")
    gone = {key for key in removed if type(key) is str}
    made = {key: part.get(key, item) for key, item in base.items() if key not in gone}
    made.update((key, item) for key, item in part.items() if key not in made)
    made[row.list] = [*kept[: row.keep], *new]
    return made


class LongPayload(Payload):
    """A payload whose input is stored as a difference. It is put together when it is first looked at."""

    def __init__(
        self,
        chain: tuple[Stored, ...],
        output: str | None = None,
        output_exact: str | None = None,
        error: str | None = None,
        output_unread: int | None = None,
    ) -> None:
        """`chain` is the row itself, then the base of each one before."""
        values = {"number": chain[0].number, "output": output, "output_exact": output_exact, "error": error}
        unread = [row.unread for row in chain if row.unread is not None]
        values |= {"input_unread": sum(unread) if unread else None, "output_unread": output_unread}
        for name, value in (values | {"chain": chain}).items():
            object.__setattr__(self, name, value)

    @cached_property
    def _whole(self) -> Whole:
        return put_together(self.chain)

    @property
    def input(self) -> str | None:
        return self._whole.plain

    @property
    def input_exact(self) -> str | None:
        return self._whole.exact

    @property
    def problem(self) -> str | None:
        return self._whole.problem


def payload(
    chain: Sequence[Stored],
    output: str | None = None,
    output_exact: str | None = None,
    error: str | None = None,
    input_unread: int | None = None,
    output_unread: int | None = None,
) -> Payload:
    """The payload of the step whose row is the first of `chain`; the others are those it is a difference to."""
    own = chain[0]
    if input_unread is None:
        input_unread = own.unread
    if own.base is not None and input_unread is None:
        return LongPayload(tuple(chain), output, output_exact, error, output_unread)
    given = Payload(own.number, own.plain, output, own.exact, output_exact, error)
    return replace(given, input_unread=input_unread, output_unread=output_unread)
