"""A batch of steps: the arrays of `write_steps.sql`, and what came of each step."""

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any
from uuid import UUID

from psycopg.pq.abc import PGresult

from stepwell.store.arrays import ARRAYS, literal
from stepwell.store.prepared import BOOL, ID, INT8, TEXT, Kind, Prepared
from stepwell.store.rows import FINISH_KINDS, START_KINDS, Finish, Start

_order = attrgetter("int")

_RUN = ("runs", "done", "begun", "begun_done", "known", "loops", "agents")
# The others are those of the runs.
_DONE = [place for place, name in enumerate(Finish._fields) if name != "loop"]
_BEGUN = [place for place, name in enumerate(Start._fields) if name not in ("run_id", "known")]
_COLUMNS: dict[str, Kind] = {
    **dict(zip(_RUN, (ID, INT8, INT8, INT8, INT8, TEXT, TEXT), strict=True)),
    **dict.fromkeys(("done_run", "done_nth"), INT8),
    **{f"done_{Finish._fields[place]}": FINISH_KINDS[place] for place in _DONE},
    **dict.fromkeys(("run", "nth", "nth_done"), INT8),
    **{Start._fields[place]: START_KINDS[place] for place in _BEGUN},
}
WRITE_STEPS = Prepared(
    "write_steps", [*_COLUMNS, "lazily"], [*(ARRAYS[kind] for kind in _COLUMNS.values()), BOOL]
)


class _Share:
    """What one run gets of the batch."""

    __slots__ = ("agents", "begun", "begun_done", "done", "known", "loop", "place", "run_id")

    def __init__(self, place: int, run_id: UUID) -> None:
        self.place, self.run_id = place, run_id
        self.done = self.begun = self.begun_done = 0
        self.known: int | None = None
        self.loop: str | None = None
        self.agents: dict[str, None] = {}

    def finish(self, row: Finish) -> tuple[int, int]:
        """Its place, and which of the run's steps that finish this is."""
        self.done += 1
        self.loop = row.loop or self.loop
        return self.place, self.done

    def start(self, row: Start) -> tuple[int, int, int]:
        """Its place, and which of the run's steps that begin this is, with and without an outcome."""
        self.begun += 1
        if row.output is not None:
            self.begun_done += 1
        if row.known is not None:
            self.known = row.known if self.known is None else min(row.known, self.known)
        if row.agent is not None:
            self.agents[row.agent] = None
        return self.place, self.begun, self.begun_done

    def row(self) -> tuple[Any, ...]:
        agents = literal(self.agents) if self.agents else None
        return self.run_id, self.done, self.begun, self.begun_done, self.known, self.loop, agents


class Batch:
    """Steps to finish and steps to begin, in one statement."""

    def __init__(self, finishes: Sequence[Finish], starts: Sequence[Start]) -> None:
        run_ids = sorted({row.run_id for row in chain[Finish | Start](finishes, starts)}, key=_order)
        shares = {run_id: _Share(place, run_id) for place, run_id in enumerate(run_ids, 1)}
        self._done = [shares[row.run_id].finish(row) for row in finishes]
        self._begun = [shares[row.run_id].start(row) for row in starts]
        done, begun = _columns(finishes, len(Finish._fields)), _columns(starts, len(Start._fields))
        self.columns = [
            *_columns([share.row() for share in shares.values()], len(_RUN)),
            *_columns(self._done, 2),
            *(done[place] for place in _DONE),
            *_columns(self._begun, 3),
            *(begun[place] for place in _BEGUN),
        ]

    def outcome(self, result: PGresult) -> tuple[list[bool], list[int | None]]:
        """Whether each was finished, and the number of each that began; None where it did not."""
        steps = {_int(result, row, 0): _int(result, row, 1) for row in range(result.ntuples)}
        begun = [steps[place] + nth if place in steps else None for place, nth, _ in self._begun]
        return [place in steps for place, _ in self._done], begun


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[Sequence[Any]]:
    """The columns, empty where they hold nothing: the statement fills them up."""
    return [
        () if column.count(None) == len(column) else column
        for column in (zip(*rows, strict=True) if rows else [()] * count)
    ]


def _int(result: PGresult, row: int, column: int) -> int:
    data = result.get_value(row, column)
    assert data is not None
    return int.from_bytes(data, "big")
