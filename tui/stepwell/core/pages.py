"""A watched table as it is paged through: some rows in the order of its key, and the story of one. Pure values."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwell.core.past import Instant, RowChange, Rows, Table, TableChanges

if TYPE_CHECKING:
    from stepwell.core.world import Replay


@dataclass(frozen=True, slots=True)
class Start:
    """Where a page begins: behind the row with this key, which may be only the beginning of one.

    Without a key at the first row; `backwards` before the row, or at the last one. `inclusive`: with the row itself.
    """

    key: tuple[str | None, ...] = ()
    backwards: bool = False
    inclusive: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """All watched tables as of an instant. `changes` are those of the step; None where they came later."""

    tables: tuple[Table, ...]
    changes: tuple[TableChanges, ...] | None
    instant: Instant | None
    replay: "Replay"


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a table, by its key from the lowest on. Long values that are no keys are cut.

    Where the past is unknown, which the verdict says, they are today's.
    """

    table: Table
    rows: Rows
    """`more`: there are others farther on in the direction in which it was read."""
    replay: "Replay"

    def key(self, row: int) -> tuple[str | None, ...]:
        """The key of one of the rows."""
        places = [self.rows.columns.index(name) for name in self.table.key]
        return tuple(self.rows.rows[row][place] for place in places)


@dataclass(frozen=True, slots=True)
class Touch:
    """What has become of a row at one step of a run: in its course, or before it, where it was the first to see it."""

    step: int
    during: bool
    change: RowChange
    known: bool = True
    """Whether the row is known as it was before and after."""


@dataclass(frozen=True, slots=True)
class Story:
    """One row, whole unless it is huge, and its changes during the run, the oldest first."""

    table: Table
    key: tuple[str | None, ...]
    rows: Rows
    """One row; none where it is gone."""
    touches: tuple[Touch, ...]
    more: bool
    """There are older changes than these."""
    replay: "Replay"
