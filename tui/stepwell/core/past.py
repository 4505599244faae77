"""The database as of a step, as values: which instant is meant, and how far what is shown of it can be trusted."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwell.core.world import Replay


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment of a database, told by what a snapshot saw then.

    `snapshot` is a `pg_snapshot` as Postgres writes it, `xmin:xmax:xip`. Where it was taken on the agent's own
    connection, `backend` is the pid of its server process; within a transaction that had written by then, `own` is that
    transaction's xid and `position` how far the change logs had got: what it had written up to there is inside.
    """

    snapshot: str
    own: int | None = None
    position: int | None = None
    backend: int | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Which server an instant belongs to: elsewhere the numbers of transactions mean nothing."""

    system: int | None
    """`system_identifier` of the cluster; None where the recorder's role might not ask."""
    timeline: int | None


class Certainty(StrEnum):
    EXACT = "exact"
    UNCERTAIN = "uncertain"
    """Something has changed the table that no log can see."""
    UNKNOWN = "unknown"
    """The rows of then cannot be told; where rows are shown, they are today's."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far the rows of one table, as of one instant, can be trusted."""

    certainty: Certainty
    why: str = ""
    """In a few words, with the remedy where there is one; empty for what is exact."""


@dataclass(frozen=True, slots=True)
class Table:
    """A watched table as of an instant. Names are without quotes; `key` has the names of its primary key's columns."""

    schema: str
    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Seen:
    """A relation or a function that a statement read, and what it meant there: `past`, `today` or `opaque`."""

    name: str
    how: str
    verdict: Verdict | None = None
    """Of a watched table that was read as of the instant."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement gave: values as the texts that Postgres writes, None for NULL."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    """The names of the columns' types, as `format_type` gives them."""
    rows: tuple[tuple[str | None, ...], ...]
    more: bool = False
    """There were more rows than were asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement of the user's own gave at a step."""

    rows: Rows
    seen: tuple[Seen, ...]
    """The relations and functions that it reads."""
    tables: tuple[Table, ...]
    """The watched tables as of the instant."""
    replay: "Replay"
    """How it was read; its counts of steps are 0."""
    instant: Instant | None
    """None where the step was recorded without one: then all that is shown is today's."""
    caution: str = ""
    """A line about a role that may do more than look, and a time that is not that of the step; else empty."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """What became of one row between two instants: `old` None where it was not there before, `new` None after.

    `key` and the rows are values as Postgres writes them, those of the rows in the order of the table's columns. Of a
    long one that is no key there is the beginning, its length and a hash.
    """

    key: tuple[str | None, ...]
    old: tuple[str | None, ...] | None
    new: tuple[str | None, ...] | None
    who: str
    """The application_name of who wrote it, or the role where it had none."""
    backend: int
    """The pid of the server process that wrote it."""
    mine: bool | None
    """Whether that was the agent's own connection; None where the step does not tell which one that is."""


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What changed in one watched table during a step."""

    table: Table
    changes: tuple[RowChange, ...]
    more: int = 0
    """How many other rows were written; whether that left them as they were has not been looked at."""
    least: bool = False
    """There may be more than that: not all that was written has been looked at."""

    @property
    def count(self) -> int:
        """How many rows changed, or were written where there are more of them than are looked at."""
        return len(self.changes) + self.more


@dataclass(frozen=True, slots=True)
class StepChanges:
    """What changed in all watched tables from the instant before step `number` to the one after it.

    Whoever wrote it: a step's own writes alone are known only where its instants are of the agent's own connection.
    """

    number: int
    tables: tuple[TableChanges, ...]
    before: Instant | None
    after: Instant | None
    replay: "Replay"
    """How it was read; its counts of steps are 0."""
