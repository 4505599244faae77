"""The part of the SQL screen that has to do with what is typed, before it is run."""

from textual import on

from stepwell.app.present import count
from stepwell.app.screens.showing import ShowingScreen
from stepwell.app.widgets.editor import LONGEST, Editor


class TypingScreen(ShowingScreen):
    """Statements of before come back, what is too long is cut, and the keys go to the editor or to the rows."""

    def on_unmount(self) -> None:
        self.keep_draft()  # the terminal may have gone away

    def keep_draft(self) -> None:
        """Remember what has been typed and not run as a statement is."""
        self.history.keep(self.editor.text)
        self.history.save()

    @on(Editor.Cut)
    def _cut(self) -> None:
        self.say(error=f"a statement may have {count(LONGEST)} characters: what was pasted is cut")

    @on(Editor.Recalled)
    def _recalled(self, message: Editor.Recalled) -> None:
        text = self.history.recall(message.by, self.editor.text)
        if text is not None:
            self.editor.put(text)

    def action_pane(self) -> None:
        """Give the keys to the rows, or back to the statement."""
        self.set_focus(None if self.editor.has_focus else self.editor)
