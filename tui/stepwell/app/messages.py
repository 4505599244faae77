"""The protocol of the app: what workers tell screens. Each message carries values, never a connection."""

from collections.abc import Collection, Sequence
from uuid import UUID

from textual.message import Message

from stepwell.core.changed import ChangedSteps
from stepwell.core.divergence import sentence
from stepwell.core.heads import Growth, Heads
from stepwell.core.pages import Listing, Page, Start, Story
from stepwell.core.past import Answer, StepChanges
from stepwell.core.rerun import Report
from stepwell.core.sight import Sight
from stepwell.core.steps import RunHead
from stepwell.core.whatif import WhatIf
from stepwell.core.world import World
from stepwell.errors import StatementError


class Opened(Message):
    """A run and all its steps have been read."""

    def __init__(self, run: RunHead, steps: Heads, where: str, caution: str = "") -> None:
        super().__init__()
        self.run = run
        self.steps = steps
        self.where = where
        """Role and database: `agents@db1`."""
        self.caution = caution
        """A line about a role that may do more than look."""


class Moved(Message, bubble=False):
    """A move was replayed and rolled back; `sight` is what the model saw of a tool call's output.

    Of a run with another output of a step, the world is that of `what_if`.
    """

    def __init__(self, world: World, sight: Sight | None, what_if: WhatIf | None = None) -> None:
        super().__init__()
        self.world = world
        self.sight = sight
        self.what_if = what_if


class Changed(Message, bubble=False):
    """What changed in watched tables during the step of a world; or a line that says why it could not be read."""

    def __init__(self, world: World, changes: StepChanges | str) -> None:
        super().__init__()
        self.world = world
        self.changes = changes


class Written(Message):
    """It is known during which steps of the run watched tables were written."""

    def __init__(self, steps: ChangedSteps) -> None:
        super().__init__()
        self.steps = steps


class Resolved(Message):
    """What was asked about step `number`, such as the value that a path names: words for the status line."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__()
        self.number = number
        self.text = text


class Grown(Message):
    """A live run has gained steps, or some of its steps have finished."""

    def __init__(self, run: RunHead, growth: Growth, new: int, updated: Collection[int]) -> None:
        super().__init__()
        self.run = run
        self.growth = growth
        self.new = new
        """How many steps are new."""
        self.updated = updated
        """The numbers of those that have changed."""


class Found(Message):
    """A search is done: numbers of the steps where `text` first appears."""

    def __init__(self, text: str, numbers: Sequence[int]) -> None:
        super().__init__()
        self.text = text
        self.numbers = tuple(numbers)


class Listed(Message):
    """A page of runs: those after the run `after`, None for the beginning; `more`: another page follows."""

    def __init__(
        self,
        runs: Sequence[RunHead],
        *,
        after: RunHead | None,
        more: bool,
        query: tuple[str, bool],
        milliseconds: float,
        asked: bool = True,
    ) -> None:
        super().__init__()
        self.runs = runs
        self.after = after
        self.more = more
        self.query = query
        """The filter that it was read with: text, and failed only."""
        self.milliseconds = milliseconds
        self.asked = asked
        """Whether a key asked for it; else the list was looked at again."""


class Counted(Message):
    """How many runs there are, `exact` or estimated; None where only steps exist."""

    def __init__(self, number: int | None, exact: bool, where: str, caution: str = "") -> None:
        super().__init__()
        self.number = number
        self.exact = exact
        self.where = where
        self.caution = caution
        """A line about a role that may do more than look."""


class Reran(Message, bubble=False):
    """The agent's code was run to a step; or `error` says why it cannot be run."""

    def __init__(self, asked: object, report: Report | None, milliseconds: float, error: str = "") -> None:
        super().__init__()
        self.asked = asked
        """What it was asked with, to tell whether that is still wanted; the number of a job that failed."""
        self.report = report
        self.milliseconds = milliseconds
        self.error = error
        found = None if report is None else report.divergence
        self.told = "" if found is None else sentence(found)
        """A divergence in words: made here, where a long one does not hold up the keyboard."""


class Editable(Message, bubble=False):
    """The output of step `number` as it is edited."""

    def __init__(self, number: int, text: str, outside: bool) -> None:
        super().__init__()
        self.number = number
        self.text = text
        self.outside = outside
        """Whether it is to be edited in `$EDITOR`."""


class Supposed(Message, bubble=False):
    """It is known what the run would be with another output; `what_if` is None for the output that it has."""

    def __init__(self, what_if: WhatIf | None) -> None:
        super().__init__()
        self.what_if = what_if


class Saved(Message, bubble=False):
    """An edited run has become a branch of its own."""

    def __init__(self, run_id: UUID, number: int) -> None:
        super().__init__()
        self.run_id = run_id
        self.number = number


class Failed(Message):
    """A job could not be done; `text` is one line with cause and remedy."""

    def __init__(self, text: str, job: str, number: int = 0) -> None:
        super().__init__()
        self.text = text
        self.job = job
        """Its kind."""
        self.number = number
        """Which of the worker's jobs it was, 0 for none of them."""


class OpenAddress(Message):
    """Open what an address names, in this run or another, and say there why that was done, if there is more to say."""

    def __init__(self, text: str, words: str = "") -> None:
        super().__init__()
        self.text = text
        self.words = words


class Answered(Message):
    """What a statement gave, of which at most `limit` rows were wanted; no text: what there is to ask about."""

    def __init__(self, text: str, answer: Answer, limit: int) -> None:
        super().__init__()
        self.text = text
        self.answer = answer
        self.limit = limit


class TablesListed(Message):
    """The watched tables as of a step."""

    def __init__(self, listing: Listing) -> None:
        super().__init__()
        self.listing = listing


class Paged(Message):
    """Rows of a table, from a start on; `subject` is what they were asked for."""

    def __init__(self, subject: object, start: Start, page: Page) -> None:
        super().__init__()
        self.subject = subject
        self.start = start
        self.page = page


class Told(Message):
    """A row, whole, and what became of it; `subject` is what it was asked for."""

    def __init__(self, subject: object, story: Story) -> None:
        super().__init__()
        self.subject = subject
        self.story = story


class Refused(Message):
    """A statement was not sent, or the database has something against it."""

    def __init__(self, text: str, problem: StatementError) -> None:
        super().__init__()
        self.text = text
        self.problem = problem


class Copied(Message):
    """Something was copied, in words for the status line."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words
