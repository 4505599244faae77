"""What a run is called, and what a view of it says about its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from stepwell.recorder.book import Book
from stepwell.recorder.own import Own


class Options(NamedTuple):
    """What a view of a run says about its steps; None to leave it to the call.

    `run_seed` is recorded with steps that have no seed of their own; it, `run_name` and `run_tags` are the run's.
    """

    name: str | None = None
    agent: str | None = None
    seed: int | None = None
    run_seed: int | None = None
    run_name: str | None = None
    run_tags: Mapping[str, object] | None = None
    connection: Own | None = None


class Named:
    """A view of a run, as far as it can be read."""

    def __init__(self, book: Book, options: Options) -> None:
        """Made by `Recorder.run`, `start` and `resume`, and by `stepwell.replay`."""
        self.book = book
        self.options = options

    def __repr__(self) -> str:
        """`<stepwell.Run 'refund-triage' 7f3a1b2c agent 'b'>`: enough of the id to open the run by."""
        name = "" if self.name is None else f"{self.name!r} "
        agent = "" if self.agent_name is None else f" agent {self.agent_name!r}"
        return f"<stepwell.Run {name}{self.run_id.hex[:8]}{agent}>"

    @property
    def run_id(self) -> UUID:
        """The run's id: what `stepwell RUN` opens and `Recorder.resume` takes."""
        return self.book.run_id

    @property
    def name(self) -> str | None:
        """The name that the run was begun with, None without one."""
        return self.options.run_name

    @property
    def tags(self) -> Mapping[str, object]:
        """The tags that the run was begun with."""
        return self.options.run_tags or {}

    @property
    def seed(self) -> int | None:
        """The seed that the run was begun with, None without one."""
        return self.options.run_seed

    @property
    def agent_name(self) -> str | None:
        """Who takes the steps of this view, None in a run of one agent."""
        return self.options.agent
