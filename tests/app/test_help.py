"""The help screen: every key of a screen, as the user has it."""

from typing import ClassVar

import pytest
from textual.binding import BindingType
from textual.pilot import Pilot
from textual.screen import Screen

from stepwell.app import keys
from stepwell.app.commandline import COMMANDS
from stepwell.app.panes.help import entries, help_lines, key_name
from stepwell.app.panes.signs import SIGNS
from stepwell.app.panes.timeline import CUT, HERE
from stepwell.app.present import line_cells, line_text
from stepwell.app.screens.help import HelpScreen
from stepwell.core.lanes import CURSOR
from stepwell.core.outline import ERROR, IN_DOUBT, RUNNING
from stepwell.core.spans import EMPTY, SPAN
from stepwell.core.timeline import BREAKPOINT, WRITTEN
from tests.app.listed import ScreenApp, drive, text_of
from tests.app.pressing import handled, press_keys


def written(width: int) -> list[str]:
    return [line_text(line) for line in help_lines(entries(keys.DEBUGGER), COMMANDS, width, SIGNS)]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("right_square_bracket", "]"),
        ("slash", "/"),
        ("colon", ":"),
        ("less_than_sign", "<"),
        ("question_mark", "?"),
        ("G", "G"),
        ("space", "Space"),
        ("pagedown", "PgDn"),
        ("ctrl+c", "Ctrl-C"),
        ("shift+tab", "Shift-Tab"),
        ("escape", "Esc"),
    ],
)
def test_keys_are_named_as_they_are_typed(key: str, name: str) -> None:
    assert key_name(key) == name


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_every_binding_and_command_has_its_line_and_no_line_is_too_long(width: int) -> None:
    text = "\n".join(written(width))
    words = " ".join(text.split())
    for entry in entries(keys.DEBUGGER):
        assert entry.keys in text
        assert entry.description.split()[0] in words
    for name in COMMANDS:
        assert f":{name}" in text
    for line in help_lines(entries(keys.DEBUGGER), COMMANDS, width, SIGNS):
        assert line_cells(line) <= width


def test_every_sign_that_a_screen_shows_is_told_of_in_ascii() -> None:
    """At the end, after the keys; no sign is cut."""
    text = "\n".join(written(80))
    assert text.isascii()
    for flag in (BREAKPOINT, ERROR, IN_DOUBT, RUNNING, WRITTEN, CUT, HERE):
        assert any(flag in sign.split() for sign in SIGNS["Signs of a step"])
    for cell in (CURSOR, SPAN, EMPTY):
        assert any(cell in sign.split() for sign in SIGNS["Signs in the strip"])
    for sign in (sign for of in SIGNS.values() for sign in of):
        assert f" {sign} " in text[text.index("Commands") :]


def test_every_binding_says_what_it_does() -> None:
    for binding in (*keys.DEBUGGER, *keys.RUNS, *keys.SQL, *keys.BROWSER):
        assert binding.id
        assert binding.description
        assert binding.tooltip


def test_every_action_belongs_to_a_group() -> None:
    found = entries([*keys.DEBUGGER, *keys.RUNS, *keys.SQL, *keys.BROWSER])
    assert "More" not in {entry.group for entry in found}


def test_two_columns_where_there_is_room() -> None:
    assert len(written(120)) < 0.7 * len(written(100))


LINES = len(help_lines(entries(keys.RUNS), {}, 80))


class Below(Screen[None]):
    """The screen whose keys are shown."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.RUNS]


def opened(keymap: dict[str, str] | None = None, press: tuple[str, ...] = (), height: int = 24) -> list[str]:
    """The help of `Below` after some keys; only the screen below is left where it is empty."""
    app = ScreenApp(Below())
    rows: list[str] = []

    async def act(pilot: Pilot[object]) -> None:
        app.set_keymap(keymap or {})
        app.push_screen(HelpScreen("list of runs", keys.RUNS, {}))
        await handled(pilot)
        await press_keys(pilot, press)
        await handled(pilot)
        rows.extend(text_of(app.screen))

    drive(app, act, (80, height))
    return rows


def test_it_names_its_screen_and_where_one_is_in_it() -> None:
    rows = opened()
    assert rows[0] == "keys of the list of runs"
    assert rows[-1].split()[-3:] == ["1-22", "of", str(LINES)]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_it_opens_at_its_commands_when_it_was_typed_for(width: int) -> None:
    """All of them are in view then, at any width."""
    app = ScreenApp(HelpScreen("debugger", keys.DEBUGGER, at="Commands", signs=SIGNS))
    rows: list[str] = []

    async def act(pilot: Pilot[object]) -> None:
        await handled(pilot)
        rows.extend(text_of(app.screen))

    drive(app, act, (width, 24))
    assert any("Commands" in row for row in rows)
    assert any(":break" in row for row in rows)


def test_a_key_that_the_user_changed_is_shown_as_it_is_now() -> None:
    rows = opened({"failed": "f8,u"})
    (row,) = [row for row in rows if "failed only" in row]
    assert row.split()[:2] == ["F8", "u"]


def test_it_scrolls_to_its_end() -> None:
    assert "j/k line  Space page  q close" in (last := opened(press=("G",), height=12)[-1])
    assert last.endswith(f"{LINES - 9}-{LINES} of {LINES}")
    assert opened(press=("j", "j", "k"), height=12)[-1].endswith(f"2-11 of {LINES}")
    assert opened(press=("space", "pageup", "g"), height=12)[-1].endswith(f"1-10 of {LINES}")


@pytest.mark.parametrize("key", ["q", "question_mark", "escape", "ctrl+c"])
def test_it_closes(key: str) -> None:
    assert opened(press=(key,)) == []
