"""A debugger in which the output of a step can be edited, to see what would be otherwise."""

import os
from dataclasses import replace

from textual import on

from stepwell.app import outside
from stepwell.app.geometry import Pane
from stepwell.app.memory import Memory
from stepwell.app.messages import Editable, Failed, OpenAddress, Saved, Supposed
from stepwell.app.mover import Mover
from stepwell.app.pending import Pending
from stepwell.app.present import count
from stepwell.app.rerun import Rerun
from stepwell.app.screens.replaying import Start
from stepwell.app.screens.rerunning import RerunningScreen
from stepwell.app.view import View
from stepwell.app.widgets.json_editor import JsonEditor, place_in
from stepwell.core.edits import read
from stepwell.core.moves import Move
from stepwell.core.whatif import WhatIf
from stepwell.core.world import Moment
from stepwell.errors import UsageError
from stepwell.store.connect import Target

LEAST_ROWS = 6
"""Where the pane has fewer, it is zoomed for an edit."""
UNSAVED = "the what-if is not saved: W saves it, u undoes it"


LEAVING = {"leave": "run", "quit": "app"}
"""Choosers that ask before an unsaved what-if is thrown away, and what they leave."""


class SupposingScreen(RerunningScreen):
    """One step at a time can be edited, as often as one likes; each edit can be undone."""

    def __init__(self, target: Target, start: Start, memory: Memory, mover: Mover | None = None) -> None:
        super().__init__(target, start, memory, mover)
        self.pending = Pending()
        self._before: list[WhatIf | None] = []
        """What `u` goes back to, newest last."""
        self._opening = False
        """Whether the editor is about to open."""
        self._wanted_edit = ""
        """Where the step is to be edited once its world is there."""
        self._draft: tuple[int, str] | None = None
        """A text that is no JSON yet, and the step that it is for."""

    @property
    def looking(self) -> bool:
        """What is typed before the editor is there is for the editor."""
        return super().looking or self._opening

    def action_edit(self, where: str = "here") -> None:
        view = self.view
        if view is None:
            return
        if words := _why_not(view):
            self.say(words)
            return
        if view.world is None or view.stale:
            self._wanted_edit = where
            self._opening = True
            return
        number, now, is_outside = view.world.number, view.what_if, where == "outside"
        if self._draft is not None and self._draft[0] == number:
            self.post_message(Editable(number, self._draft[1], is_outside))
            return
        self._opening = True
        self.say("reading the recording; Ctrl-C cancels")
        self.worker.submit("edit", lambda: self.mover.supposer.editable(number, now, is_outside))

    def arrived(self) -> None:
        super().arrived()
        where, self._wanted_edit = self._wanted_edit, ""
        if where:
            self.action_edit(where)

    @on(Editable)
    def _editable(self, message: Editable) -> None:
        view, self._opening = self.view, False
        if view is None or view.stale or view.world is None or view.world.number != message.number:
            return
        if message.outside:
            self._edit_outside(message.number, message.text)
        else:
            self.edit_here(message.text)

    def edit_here(self, text: str, problem: str = "") -> None:
        """Show the text in place of OUTPUT, the cursor where the problem is."""
        view = self.view
        if view is None:
            return
        if len(text) > JsonEditor.LONGEST:
            words = f"{count(len(text))} characters are too many to be edited here: E takes your own editor"
            self.show(replace(view, message=words, error=problem))
            return
        shown = replace(view, pane=Pane.OUTPUT, follow=False, editing=True, message="", error=problem)
        self.show(shown)
        if self.board.lines(Pane.OUTPUT).size.height < LEAST_ROWS and not view.zoomed:
            self.show(replace(shown, zoomed=True))
        self.board.edit(text)
        if problem:
            self.board.editor.put_at(*place_in(problem))

    def _edit_outside(self, number: int, text: str) -> None:
        try:
            given = outside.edited(self.app, text, f"{self.start.run.run_id.hex[:8]}-{number}", os.environ)
        except UsageError as problem:
            self._stop_editing(error=str(problem))
            return
        if given == text and self._draft is None:
            self._stop_editing("nothing is changed")
        else:
            self._take(number, given)

    def _take(self, number: int, text: str) -> None:
        """Derive what would be otherwise; where the text is no JSON it is not lost."""
        try:
            value = read(text)
        except UsageError as problem:
            self._draft = (number, text)
            self.edit_here(text, str(problem))
            return
        self._draft = (number, text)
        self.say("looking for what depends on it; Ctrl-C cancels")
        self.worker.submit("suppose", lambda: self.mover.supposer.suppose(number, value))

    def _stop_editing(self, message: str = "", error: str = "") -> None:
        if self.view is not None:
            self.board.stop_editing()
            self.show(replace(self.view, editing=False, message=message, error=error))

    @on(JsonEditor.Done)
    def _typed(self, message: JsonEditor.Done) -> None:
        view = self.view
        if view is None or view.world is None:
            return
        if message.outside:
            self._edit_outside(view.world.number, message.text)
        else:
            self._take(view.world.number, message.text)

    @on(JsonEditor.GivenUp)
    def _given_up(self) -> None:
        self._draft = None
        self._stop_editing("as it was")

    @on(JsonEditor.Cut)
    def _cut(self) -> None:
        if self.view is not None:
            words = f"a text may have {count(JsonEditor.LONGEST)} characters: what was pasted is cut"
            self.show(replace(self.view, error=words))

    @on(Supposed)
    def _supposed(self, message: Supposed) -> None:
        view, found = self.view, message.what_if
        if view is None:
            return
        self._draft = None
        if found is None and view.what_if is None:
            self._stop_editing("that is what it gave: nothing is edited")
            return
        self._before.append(view.what_if)
        self._suppose(found)

    def _suppose(self, found: WhatIf | None) -> None:
        """Show the run as it would be."""
        if self.view is None:
            return
        self.board.stop_editing()
        self.mover.what_if = found
        agent = None if self.view.agent is None else Rerun()
        self.view = view = replace(self.view, what_if=found, editing=False, world=None, agent=agent)
        self.apply(Move(view.timeline, _words(found)))

    @property
    def is_asking(self) -> bool:
        return self.pending.kind is not None

    def action_undo_edit(self) -> None:
        if self._before:
            self._suppose(self._before.pop())
        else:
            self.say("nothing is edited: e edits what this step gave")

    def action_save(self) -> None:
        found = None if self.view is None else self.view.what_if
        if found is None:
            self.say("nothing is edited: e edits what this step gave")
        else:
            self.say("saving…")
            self.worker.submit("save", lambda: self.mover.supposer.save(found))

    @on(Saved)
    def _saved(self, message: Saved) -> None:
        """Go on in the branch."""
        if self.view is not None:
            self.mover.what_if = None
            self.view = replace(self.view, what_if=None)
            self.app.post_message(OpenAddress(f"{message.run_id}:{message.number}"))

    @on(Failed)
    def _cannot_be_taken(self, message: Failed) -> None:
        """A value that cannot be kept stays in the editor, to be mended."""
        self._opening = False
        if message.job == "suppose" and self._draft is not None and self.view is not None:
            self.edit_here(self._draft[1], message.text)

    def leave(self, what: str, *, sure: bool = False) -> None:
        """The run, or for `app` Stepwell; asks before an unsaved what-if is thrown away, unless one is `sure`."""
        view = self.view
        if view is not None and view.what_if is not None and not sure:
            kind = next(kind for kind, leaves in LEAVING.items() if (leaves == "app") is (what == "app"))
            self.say(self.pending.ask(kind, view.timeline))
        elif what == "app":
            self.app.exit()
        else:
            self.dismiss()


def _why_not(view: View) -> str:
    """Why the step at the cursor cannot be edited; empty if it can."""
    step = view.timeline.current
    if step is None:
        return "the run has no step to edit"
    if view.what_if is not None and view.what_if.number != step.number:
        return f"step {view.what_if.number} is edited: u undoes that, W saves it; then this one"
    if view.timeline.moment is Moment.ASKED:
        return "what it gave came after this moment: a shows it, e edits it then"
    return ""


def _words(found: WhatIf | None) -> str:
    """What came of an edit."""
    if found is None:
        return "as it was recorded"
    if found.plain:
        path, name = found.plain[0]
        more = f" and {len(found.plain) - 1} more" if len(found.plain) > 1 else ""
        return f"{path} was a {name}, and is plain data now{more}"
    first = found.stale_from
    if first is None:
        return "no later step is known to depend on it"
    return f"stale from {first.number}: {first.words}"
