"""What the debugger shows, as one immutable value: every widget is a function of it."""

from dataclasses import dataclass, field
from datetime import datetime

from stepwell.app.geometry import Pane
from stepwell.app.rerun import Rerun
from stepwell.core.past import StepChanges
from stepwell.core.sight import Sight
from stepwell.core.timeline import Timeline
from stepwell.core.whatif import WhatIf
from stepwell.core.world import Moment, World

DIVERGED, EDITED, FORKED, STALE = "D", "E", "F", "e"


@dataclass(frozen=True, slots=True)
class View:
    """The run as it is looked at. `world` lags behind the cursor while a replay is under way."""

    timeline: Timeline
    short_id: str
    where: str
    """Role and database: `agents@db1`."""
    world: World | None = None
    sight: Sight | None = None
    """What the model saw of the output of the world's step, where that is a tool call."""
    cut: frozenset[int] = frozenset()
    """Numbers of the steps seen so far whose output did not reach the model whole."""
    pane: Pane = Pane.OUTPUT
    zoomed: bool = False
    raw: frozenset[Pane] = frozenset()
    """Panes that show their value as it is stored."""
    diff: bool = False
    """INPUT shows what changed since the previous prompt of the same agent."""
    whole: bool = False
    """INPUT shows all messages of a prompt, not only what is new."""
    tables: bool = False
    """TABLES is shown: what a step changed in the database."""
    printed: bool = False
    """AGENT is shown: what the agent's code printed, and what is to be known of its replay."""
    agent: Rerun | None = None
    """None where no agent's code was given."""
    what_if: WhatIf | None = None
    """What the run would be with another output of one step, not saved yet."""
    editing: bool = False
    """OUTPUT is being edited."""
    changes: StepChanges | str | None = None
    """Of the step of `changes_of`; a text says why it could not be read."""
    changes_of: World | None = None
    """None while nothing was read so far."""
    reading: bool = False
    """It takes long enough to be said."""
    message: str = ""
    error: str = ""
    follow: bool = False
    behind: int = 0
    """Steps that a live run has gained since the cursor left its tail."""
    busy: bool = False
    hits: tuple[int, ...] = field(default=())
    """Step numbers that the last search with a hit found."""
    mark: str = ""
    """The text that a search has led to, marked wherever a pane shows it; empty for none."""
    polled: datetime | None = None

    @property
    def unread(self) -> int | None:
        """Bytes as stored of the chosen pane's value, where that was too large to be read on a move."""
        payload = None if self.world is None or self.stale else self.world.payload
        if payload is None or self.pane not in (Pane.INPUT, Pane.OUTPUT):
            return None
        return payload.input_unread if self.pane is Pane.INPUT else payload.output_unread

    @property
    def instead(self) -> Pane | None:
        """The pane that takes the place of STATE."""
        return Pane.TABLES if self.tables else Pane.AGENT if self.printed else None

    @property
    def lags(self) -> bool:
        """Whether what changed at the step that is shown has yet to be read."""
        world = self.world
        shown = self.tables and world is not None and not self.stale
        return shown and self.timeline.moment is Moment.AFTER and self.changes_of is not world

    @property
    def stale(self) -> bool:
        """Whether the world shown is not yet that of the cursor."""
        timeline, world = self.timeline, self.world
        return bool(timeline.steps) and (
            world is None
            or world.number != timeline.steps.numbers[timeline.cursor]
            or world.moment is not timeline.moment
        )

    def badge(self, number: int) -> str:
        """The letters of a step: `D` the agent parts here, `E` edited, `e` stale, `F` the first own one of a branch."""
        found = FORKED if self.timeline.run.forked_at == number else ""
        if self.agent is not None and self.agent.step == number:
            found += DIVERGED
        if self.what_if is not None:
            if number == self.what_if.number:
                return EDITED + found
            if number in self.what_if.by_number:
                return STALE + found
        return found

    @property
    def badges(self) -> dict[int, str]:
        """The steps that the strip points out, and the letter of each: of the stale ones the first."""
        run, found = self.timeline.run, {}
        if run.forked_at is not None:
            found[run.forked_at] = FORKED
        if self.what_if is not None:
            if self.what_if.stale_from is not None:
                found[self.what_if.stale_from.number] = STALE
            found[self.what_if.number] = EDITED
        if self.agent is not None and self.agent.step is not None:
            found[self.agent.step] = DIVERGED
        return found
