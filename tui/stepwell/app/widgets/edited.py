"""A widget of which a part can be edited in place."""

from textual.widget import Widget

from stepwell.app.widgets.json_editor import JsonEditor


class Edited(Widget):
    """Made with the first edit, the editor lies over whatever the cells that it is given show."""

    def __init__(self) -> None:
        super().__init__()
        self._editor: JsonEditor | None = None
        self._cells = (0, 0, 1, 1)

    @property
    def editor(self) -> JsonEditor:
        if self._editor is None:
            self._editor = JsonEditor()
            self.mount(self._editor)
        return self._editor

    def edit(self, text: str) -> None:
        """Have a text edited."""
        self.editor.put(text, 0)
        self.place_editor(*self._cells)
        self.editor.display = True
        self.screen.set_focus(self.editor)

    def stop_editing(self) -> None:
        """Show again what lies below the editor."""
        if self._editor is not None:
            self.screen.set_focus(None)
            self._editor.display = False

    def place_editor(self, x: int, y: int, columns: int, rows: int) -> None:
        """Give it its cells, now or when there is one."""
        self._cells = x, y, columns, rows
        if self._editor is not None:
            self._editor.styles.offset = (x, y)
            self._editor.styles.width, self._editor.styles.height = max(1, columns), max(1, rows)
