"""The line to type into: what goes in is text, what comes out is told once."""

from textual import events, on
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from stepwell.app.widgets.lines import Lines
from stepwell.app.widgets.prompt import MAX_LENGTH, Prompt
from tests.app.listed import Act, drive
from tests.app.pressing import handled, press_keys

HOSTILE = "\x1b]52;c;cm0=\x07[red]\u202ed\x00[/x"


class PromptApp(App[object]):
    """A pane, and a prompt over its last row; `q` is a key of the pane."""

    CSS = "Screen { background: ansi_default; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("q", "note('q')", ""), ("tab", "note('tab')", ""), ("ctrl+c", "note('ctrl+c')", "")]  # noqa: RUF012 - as Textual reads it

    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        self.told: list[tuple[str, ...]] = []

    def compose(self) -> ComposeResult:
        yield Lines()
        yield Prompt()

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    def action_note(self, key: str) -> None:
        self.told.append(("key", key))

    @on(Prompt.Submitted)
    def _submitted(self, message: Prompt.Submitted) -> None:
        self.told.append(("submitted", message.kind, message.text))

    @on(Prompt.Cancelled)
    def _cancelled(self, message: Prompt.Cancelled) -> None:
        self.told.append(("cancelled", message.kind))

    @on(Prompt.Changed)
    def _changed(self, message: Prompt.Changed) -> None:
        self.told.append(("changed", message.kind, message.text))


def typed(keys: list[str], text: str = "", history: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """What is told of keys that are pressed while a prompt of the kind `filter` is open."""
    app = PromptApp()

    async def act(pilot: Pilot[object]) -> None:
        app.prompt.open("filter", "/", text, history)
        await handled(pilot)
        await press_keys(pilot, keys)
        await handled(pilot)

    drive(app, act)
    return app.told


def shown(act: Act, app: PromptApp, size: tuple[int, int] = (40, 6)) -> None:
    drive(app, act, size)


def test_every_change_and_the_line_are_told_with_their_kind() -> None:
    assert typed(["a", "b", "enter"]) == [
        ("changed", "filter", "a"),
        ("changed", "filter", "ab"),
        ("submitted", "filter", "ab"),
    ]


def test_the_text_it_is_opened_with_is_no_change() -> None:
    assert typed(["enter"], text="refund") == [("submitted", "filter", "refund")]


def test_esc_ctrl_c_and_backspace_on_nothing_cancel() -> None:
    for key in ("escape", "ctrl+c", "backspace"):
        assert typed([key]) == [("cancelled", "filter")]


def test_backspace_deletes_as_long_as_there_is_something() -> None:
    assert typed(["x", "backspace", "backspace"]) == [
        ("changed", "filter", "x"),
        ("changed", "filter", ""),
        ("cancelled", "filter"),
    ]


def test_keys_of_the_screen_rest_while_it_is_open_and_work_again_when_it_is_closed() -> None:
    told = typed(["q", "tab", "enter", "q", "ctrl+c"])
    assert told == [
        ("changed", "filter", "q"),
        ("submitted", "filter", "q"),
        ("key", "q"),
        ("key", "ctrl+c"),
    ]


def test_hidden_it_takes_no_key_and_no_row() -> None:
    app = PromptApp()

    async def act(pilot: Pilot[object]) -> None:
        assert app.focused is None
        assert app.query_one(Lines).size.height == 6
        app.prompt.open("filter", "/")
        await handled(pilot)
        assert app.query_one(Lines).size.height == 6
        assert (app.prompt.region.y, app.prompt.region.height) == (5, 1)

    shown(act, app)


def test_up_finds_earlier_lines_of_its_kind_and_down_comes_back() -> None:
    app = PromptApp()

    async def act(pilot: Pilot[object]) -> None:
        for kind, line in (("command", "17"), ("search", "lamp"), ("command", "50%"), ("command", "17")):
            app.prompt.open(kind, ":")
            await press_keys(
                pilot, [*line.replace("%", ""), *(["percent_sign"] if "%" in line else []), "enter"]
            )
        app.prompt.open("command", ":")
        await press_keys(pilot, ["9", "up", "up", "up", "down", "enter"])
        app.prompt.open("command", ":")
        await press_keys(pilot, ["9", "up", "down", "enter"])
        await handled(pilot)

    drive(app, act)
    assert [told[2] for told in app.told if told[0] == "submitted"][-2:] == ["17", "9"]


def test_history_from_before_is_found_too() -> None:
    assert typed(["up", "up", "enter"], history=("old", "newer"))[-1] == ("submitted", "filter", "old")


def test_what_is_pasted_is_one_clean_line_and_never_markup() -> None:
    app = PromptApp()

    async def act(pilot: Pilot[object]) -> None:
        app.prompt.open("search", "/")
        await handled(pilot)
        assert app.focused is not None
        app.focused.post_message(events.Paste(f"\n\n{HOSTILE}\nsecond line"))
        await handled(pilot)
        await press_keys(pilot, ["x", "enter"])
        await handled(pilot)

    drive(app, act)
    assert app.told[-1] == ("submitted", "search", r"\x1b]52;c;cm0=\x07[red]\u202ed\x00[/xx")


def test_a_paste_of_megabytes_is_cut() -> None:
    app = PromptApp()

    async def act(pilot: Pilot[object]) -> None:
        app.prompt.open("search", "/")
        await handled(pilot)
        assert app.focused is not None
        app.focused.post_message(events.Paste("\x1b" * 10_000_000))
        await handled(pilot)
        await press_keys(pilot, ["enter"])
        await handled(pilot)

    drive(app, act)
    assert len(app.told[-1][2]) == MAX_LENGTH


def test_hostile_text_and_prefix_are_cleaned_when_it_is_opened() -> None:
    app = PromptApp()

    async def act(pilot: Pilot[object]) -> None:
        app.prompt.open("search", f"{HOSTILE}: ", HOSTILE)
        await handled(pilot)
        written = "".join(strip.text for strip in app.screen._compositor.render_strips())
        assert r"\x1b]52" in written
        assert written.replace("\n", "").isprintable()

    shown(act, app, (120, 6))


def test_a_line_longer_than_forty_columns_keeps_its_end_in_view() -> None:
    app = PromptApp()

    async def act(pilot: Pilot[object]) -> None:
        app.prompt.open("search", "/", "a" * 60 + "the end")
        await handled(pilot)
        row = app.screen._compositor.render_strips()[-1].text
        assert row.startswith("/aaa")
        assert row.rstrip().endswith("the end")
        assert len(row) == 40

    shown(act, app)
