"""A debugger that is searched: to the steps where a text first appears, and to the place where it stands."""

from dataclasses import replace
from functools import partial

from textual import on

from stepwell.app.finding import Finder, Place, find
from stepwell.app.memory import Memory
from stepwell.app.messages import Found
from stepwell.app.mover import Mover
from stepwell.app.moving import agents_named, hits_in, search_hit
from stepwell.app.present import count, size
from stepwell.app.screens.replaying import Start
from stepwell.app.screens.stopping import StoppingScreen
from stepwell.app.soon import soon
from stepwell.app.view import View
from stepwell.app.widgets.lines import Lines
from stepwell.core.moves import Move
from stepwell.core.search import folds_case, readings
from stepwell.store.connect import Target

LAYING_OUT = "laying out … "


class SearchingScreen(StoppingScreen):
    """Goes to hits, looks for each in the panes, and tells of what takes long on the event loop."""

    def __init__(self, target: Target, start: Start, memory: Memory, mover: Mover | None = None) -> None:
        super().__init__(target, start, memory, mover)
        self._text = ""
        """The last text that was found."""
        self._missed = ""
        """The last text that was not."""
        self._words = ""
        """Which of the hits the last one was."""
        self._unseen = False
        """Whether the hit has yet to be looked for in the panes."""
        self.finder = Finder(partial(soon, self), self._looked, self._sighted)

    @property
    def settled(self) -> bool:
        return super().settled and not self.finder.busy

    def search(self, text: str) -> None:
        """To the nearest hit from the cursor on; without a text to the next one of the last search."""
        if not text:
            self.action_hit("next")
            return
        self.say(f"searching for {text}; Ctrl-C cancels")
        self.worker.submit("search", lambda: self.mover.search(text))

    def action_hit(self, which: str) -> None:
        view = self.view
        if view is None:
            return
        if view.hits:
            self._to_hit(view, forwards=which == "next")
        elif self._missed:
            self.say(_not_found(self._missed))
        else:
            self.say("nothing was searched for yet: / searches")

    def stop(self) -> bool:
        """Stop what takes long on the event loop, where it is; whether there was anything to stop."""
        return any([self.finder.stop(), self.board.stop()])

    def apply(self, move: Move, *, follow: bool = False, mark: str = "") -> None:
        self.finder.stop()
        self._unseen = bool(mark)
        super().apply(move, follow=follow, mark=mark)

    def read_whole(self) -> bool:
        """Have the chosen pane's value read, where moves leave it alone for its size, to be shown as it is stored.

        Whether there is such a value. What is read is gone with the next move.
        """
        view = self.view
        if view is None or view.world is None or view.unread is None:
            return False
        number, moment = view.world.number, view.world.moment
        words = f"reading {size(view.unread)}, compressed…"
        self.show(replace(view, raw=view.raw | {view.pane}, message=words, error=""))
        self.worker.submit("move", lambda: self.mover.move(number, moment, whole=True))
        self._unseen = bool(view.mark)
        return True

    def arrived(self) -> None:
        super().arrived()
        view = self.view
        if self._unseen and view is not None and view.world is not None:
            self._unseen = False
            self.finder.start(find(view, view.world, self.board.searched()))

    def _to_hit(self, view: View, *, forwards: bool, from_here: bool = False) -> None:
        move = search_hit(view.timeline, view.hits, forwards=forwards, from_here=from_here)
        self._words = move.message or ""
        self.apply(move, mark=self._text)

    @on(Found)
    def _found(self, message: Found) -> None:
        if self.view is None:
            return
        timeline = self.view.timeline
        hits = hits_in(timeline, [*message.numbers, *agents_named(timeline, message.text)])
        if not hits:  # the hits before stay, for `.` and `;`
            self._missed = message.text
            self.say(_not_found(message.text))
            return
        self._text = message.text
        self.view = replace(self.view, hits=hits, mark="")
        self._to_hit(self.view, forwards=True, from_here=True)

    def _looked(self, number: int) -> None:
        self.say(f"looking for {self._text} … {count(number)} lines, any key stops")

    def _sighted(self, place: Place | None) -> None:
        """Show the place where the hit stands; where no pane has it, say what does."""
        view = self.view
        if view is None:
            return
        if place is not None:
            self.show(replace(view, pane=place.pane, message=self._words))
            self.board.lines(place.pane).move_to(place.line)
            return
        step = view.timeline.current
        names = {"name": step.name, "agent's name": step.agent} if step is not None else {}
        text = self._text.lower()
        found = next((which for which, name in names.items() if text in (name or "").lower()), None)
        where = f", in its {found}" if found else "; x shows it as stored"
        self.show(replace(view, message=self._words + where))

    @on(Lines.Seeking)
    def _laying_out(self, message: Lines.Seeking) -> None:
        message.stop()
        if message.known is not None and message.lines.seeking:  # else it was stopped after that
            self.say(f"{LAYING_OUT}{_many(message.known)} lines, Ctrl-C stops")
        elif message.known is None and self.view is not None and self.view.message.startswith(LAYING_OUT):
            self.say("")


def _not_found(text: str) -> str:
    """With what may be why."""
    whys = [] if folds_case(text) else ["upper case is matched exactly"]
    if any(tokens.count(":") > 1 for tokens in readings(text)):
        whys.append("keys are stored in an order of their own: one finds more")
    return f"not found: {text}" + (f" ({'; '.join(whys)})" if whys else "")


def _many(number: int) -> str:
    return f"{number / 1_000_000:.1f} M" if number >= 1_000_000 else count(number)
