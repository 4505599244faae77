"""The list of runs as it is looked at: an immutable value, and what pages and keys make of it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

from stepwell.core.steps import RunHead

Query = tuple[str, bool]
"""Part of a name or the beginning of an id, and whether failed and died runs alone are wanted."""
SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Listing:
    """`runs` answer the query `shown`, which lags behind `query` while a page is being read."""

    runs: tuple[RunHead, ...] = ()
    ids: Mapping[UUID, str] = field(default_factory=dict)
    """The beginning of each run's id that no other of `runs` has."""
    more: bool = False
    """Whether older runs have not been read yet."""
    query: Query = ("", False)
    shown: Query | None = None
    selected: int = 0
    top: int = 0
    """The first row in view."""
    follow: bool = False
    total: int | None = None
    exact: bool = True
    where: str = ""
    """Role and database: `agents@db1`."""
    milliseconds: float | None = None
    """That the last page which a key asked for took."""
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    message: str = ""
    error: str = ""
    caution: str = ""
    """A line about a role that may do more than look, until a key is pressed."""

    @property
    def run(self) -> RunHead | None:
        """The selected one."""
        return self.runs[self.selected] if self.runs else None

    @property
    def settled(self) -> bool:
        """Whether what is shown is what is asked for."""
        return self.shown == self.query

    def before(self) -> RunHead | None:
        """The run before the first one in view, where there is one."""
        return self.runs[self.top - 1] if 0 < self.top <= len(self.runs) else None

    def running(self, rows: int) -> tuple[RunHead, ...]:
        """Those of the `rows` runs in view that are running, as far as is known."""
        return tuple(run for run in self.runs[self.top : self.top + rows] if run.status == "running")


def with_page(
    listing: Listing, page: Sequence[RunHead], after: RunHead | None, more: bool, query: Query, rows: int
) -> Listing:
    """With what was read: the runs that follow `after`, or those that begin the list.

    Runs read before that lie beyond the page are kept, and the selection stays with its run. A page of a
    query that is no longer the one asked for is dropped.
    """
    if query != listing.query:
        return listing
    if listing.shown != query:
        return _placed(replace(listing, runs=(), top=0, selected=0, shown=query), page, more, rows)
    head: tuple[RunHead, ...] = ()
    if after is not None:
        head = tuple(run for run in listing.runs if _key(run) >= _key(after))
    tail: tuple[RunHead, ...] = ()
    if more and page:
        tail = tuple(run for run in listing.runs if _key(run) < _key(page[-1]))
    return _placed(listing, (*head, *page, *tail), listing.more if tail else more, rows)


def _placed(listing: Listing, runs: Iterable[RunHead], more: bool, rows: int) -> Listing:
    """With other runs, the same one selected, and on the same row of the screen where the list is scrolled."""
    runs = tuple(runs)
    was = listing.run
    kept = next((i for i, run in enumerate(runs) if was and run.run_id == was.run_id), None)
    selected = min(listing.selected, max(0, len(runs) - 1)) if kept is None else kept
    if listing.follow:
        selected = 0
    top = listing.top
    if top or selected >= rows:
        top = max(0, top + selected - listing.selected)
    ids = listing.ids
    if [run.run_id for run in runs] != [run.run_id for run in listing.runs]:
        ids = short_ids(run.run_id for run in runs)
    return in_view(replace(listing, runs=runs, ids=ids, more=more, selected=selected, top=top), rows)


def select(listing: Listing, how: str, rows: int) -> Listing:
    """Select another run: `down`, `up`, `page_down`, `page_up`, `first`, `last`. Leaves the newest alone."""
    last = max(0, len(listing.runs) - 1)
    to = {
        "down": listing.selected + 1,
        "up": listing.selected - 1,
        "page_down": listing.selected + rows,
        "page_up": listing.selected - rows,
        "first": 0,
    }.get(how, last)
    to = min(max(to, 0), last)
    follow = listing.follow and to == 0
    return in_view(replace(listing, selected=to, follow=follow, message="", error=""), rows)


def in_view(listing: Listing, rows: int) -> Listing:
    """Turned to the page of `rows` rows that holds the selection: a step then changes two rows."""
    top, selected = listing.top, listing.selected
    if selected < top:
        top = max(0, selected - rows + 1)
    elif selected >= top + rows:
        top = selected
    return listing if top == listing.top else replace(listing, top=top)


def short_ids(ids: Iterable[UUID]) -> dict[UUID, str]:
    """The first digits of each, at least four and as many for all, that tell them apart."""
    ordered = sorted(set(ids))
    size = SHORTEST
    for one, other in pairwise(ordered):
        same = (128 - (one.int ^ other.int).bit_length()) // 4
        size = max(size, same + 1)
    return {run_id: run_id.hex[:size] for run_id in ordered}


def _key(run: RunHead) -> tuple[float, UUID]:
    return run.started.timestamp() if run.started else float("-inf"), run.run_id
