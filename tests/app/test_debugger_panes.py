"""The panes of the debugger: what they show, how far they scroll, and how they fit a terminal."""

import pytest
from psycopg.types.json import Jsonb

from stepwell.app.geometry import Pane
from stepwell.app.present import Rows
from stepwell.app.widgets.lines import AHEAD, STRIDE
from tests.app.recorded import BARE, BIG, DIED, EMPTY, LOOPING, SWARM
from tests.app.stepping import Debugging, debug, keys, pressed
from tests.store.rows import add_run


def test_a_cut_output_says_what_the_model_never_saw(recorded_dsn: str) -> None:
    """The token limit of the story: 10.6 KB given, 2,048 characters seen."""
    text = pressed(recorded_dsn, LOOPING, "", step=5).text
    assert "x prompt 6 holds 2,048 characters of this output" in text
    assert "x 8.6 KB never seen, from: " in text


def test_a_step_whose_output_was_cut_is_flagged_from_then_on(recorded_dsn: str) -> None:
    """It takes the output and the next prompt to know, so only steps that were looked at are flagged."""

    async def act(debugger: Debugging) -> None:
        for _ in range(3):
            await debugger.press("n")
        marks = [row.split()[-1] for row in debugger.rows("timeline")[4:9]]
        assert marks == ["x", "1.6", "xo2", "o2", "o3"]

    debug(recorded_dsn, LOOPING, act, step=5)


def test_a_prompt_opens_at_its_new_messages(recorded_dsn: str) -> None:
    """The repeated part of a long conversation is above, one page up."""

    async def act(debugger: Debugging) -> None:
        assert debugger.heading(Pane.INPUT).startswith("INPUT- gpt-5-mini, 2 new of 42 ")
        assert "new" in debugger.rows(Pane.INPUT)[0]
        await debugger.press("M<")
        assert debugger.rows(Pane.INPUT)[:2] == ["system", " You are the refund desk of a lamp shop."]

    debug(recorded_dsn, LOOPING, act, step=42)


def test_a_diff_shows_what_was_added_to_the_prompt(recorded_dsn: str) -> None:
    """And the first prompt has nothing to be compared with."""
    assert "+" in pressed(recorded_dsn, LOOPING, "d", step=6).text
    assert "the first prompt of this agent" in pressed(recorded_dsn, LOOPING, "d", step=1).text


def test_raw_shows_what_the_table_holds(recorded_dsn: str) -> None:
    """The pane that is chosen, and no other."""
    text = pressed(recorded_dsn, LOOPING, "<shift+tab>x", step=6).text
    assert '"model": "gpt-5-mini"' in text
    assert "gpt-5-mini, as stored" in text
    assert pressed(recorded_dsn, LOOPING, "<tab>x", step=6).text.count("as stored") == 0


def test_raw_needs_a_pane(recorded_dsn: str) -> None:
    """The timeline has no value."""
    assert "choose a pane first: Tab" in pressed(recorded_dsn, LOOPING, "<tab><tab>x", step=6).status


def test_tab_goes_round_the_panes(recorded_dsn: str) -> None:
    """In the order in which they stand, both ways."""

    async def act(debugger: Debugging) -> None:
        for key in ("tab", "shift+tab"):
            seen = []
            for _ in range(4):
                await debugger.press(f"<{key}>")
                seen.append(debugger.view.pane)
            order = [Pane.STATE, Pane.TIMELINE, Pane.INPUT, Pane.OUTPUT]
            assert seen == (order if key == "tab" else [*order[-2::-1], Pane.OUTPUT])

    debug(recorded_dsn, LOOPING, act, step=5)


def test_zoom_gives_the_pane_all_the_room(recorded_dsn: str) -> None:
    """Title, strip, status and keys stay; the next pane is shown instead when it is chosen."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("z")
        assert [len(debugger.rows(pane)) for pane in (Pane.TIMELINE, Pane.INPUT, Pane.OUTPUT)] == [0, 0, 19]
        await debugger.press("<tab>")
        assert debugger.rows(Pane.STATE)[0].startswith("plan")
        await debugger.press("<tab>")
        assert len(debugger.rows(Pane.TIMELINE)) == 20
        await debugger.press("z")
        assert len(debugger.rows(Pane.INPUT)) == 6

    debug(recorded_dsn, LOOPING, act, step=5)


def test_zoom_stays_at_the_line_that_was_looked_at(recorded_dsn: str) -> None:
    """There and back."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("<space><space>")
        line = debugger.rows(Pane.OUTPUT)[0]
        for _ in range(2):
            await debugger.press("z")
            assert debugger.rows(Pane.OUTPUT)[0] == line

    debug(recorded_dsn, LOOPING, act, step=5)


def test_scrolling_the_timeline_moves(recorded_dsn: str) -> None:
    """A page of the timeline is a page of steps."""
    assert pressed(recorded_dsn, LOOPING, "<tab><tab><space>", step=5).number == 25
    assert pressed(recorded_dsn, LOOPING, "<tab><tab>>K", step=5).number == 51


def test_ten_megabytes_open_without_being_laid_out(recorded_dsn: str) -> None:
    """What is worked on is what is seen and a little more."""

    async def act(debugger: Debugging) -> None:
        document = debugger.screen.board.lines(Pane.OUTPUT).document
        assert document is not None
        assert document.known_lines <= AHEAD + 100
        assert not document.complete
        assert debugger.heading(Pane.OUTPUT).endswith("+")

    debug(recorded_dsn, BIG, act)


def test_ten_megabytes_are_reachable_to_the_last_character(
    recorded_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laid out in strides, between which keys work, each line once."""
    strides: list[int] = []
    advance = Rows.advance

    def counted(self: Rows, budget: int) -> bool:
        strides.append(budget)
        return advance(self, budget)

    monkeypatch.setattr(Rows, "advance", counted)

    async def act(debugger: Debugging) -> None:
        lines = debugger.screen.board.lines(Pane.OUTPUT)
        await debugger.press(">")
        await debugger.until(lambda: lines.position.complete)
        await debugger.until(lambda: lines.position.last == lines.position.known)
        assert 'END."' in debugger.rows(Pane.OUTPUT)[-1]
        assert max(strides) <= STRIDE
        assert len(strides) <= lines.position.known / STRIDE + 10
        await debugger.press("<")
        assert debugger.rows(Pane.OUTPUT)[0].startswith('"0123456789 ')

    debug(recorded_dsn, BIG, act)


def test_a_long_way_down_is_left_by_another_key(recorded_dsn: str) -> None:
    """Who pressed > by mistake need not wait for the end."""

    async def act(debugger: Debugging) -> None:
        for key in keys("><"):
            debugger.app.post_message(key)
        lines = debugger.screen.board.lines(Pane.OUTPUT)
        await debugger.until(lambda: lines.position.first == 1)
        assert not lines.position.complete

    debug(recorded_dsn, BIG, act)


def test_a_step_in_doubt_is_called_so(recorded_dsn: str) -> None:
    """What was running when the process died."""
    text = pressed(recorded_dsn, DIED, "", step=5).text
    assert "DIED in doubt: send_email" in text
    assert "recorded before it was applied" in text


def test_an_error_is_shown_where_the_output_would_be(recorded_dsn: str) -> None:
    """With its class and its message."""
    text = pressed(recorded_dsn, LOOPING, "G").text
    assert "OUTPUT] raised" in text
    assert "shop.agent.MaxTurnsError: 25 turns" in text


def test_a_swarm_has_lanes_and_names_who_still_runs(recorded_dsn: str) -> None:
    """When b had its answer, triage's call, a's call, and what b called were under way."""
    seen = pressed(recorded_dsn, SWARM, "", step=5, size=(120, 40))
    assert [line.split()[0] for line in seen.text.splitlines()[1:5]] == ["triage", "a", "b", "c"]
    assert "still running: 3, 4" in seen.text
    assert "lane b" in seen.status


def test_a_bare_table_says_what_it_does_not_know(recorded_dsn: str) -> None:
    """No durations, no finishing order; nothing is guessed."""
    seen = pressed(recorded_dsn, BARE, "nn")
    assert "ordered by number" in seen.status
    assert "UNKNOWN" in seen.text
    assert "8841" in seen.text


def test_an_empty_run_takes_every_key(recorded_dsn: str) -> None:
    """There is nothing to see, and nothing to break."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("npgGcCaz<tab>dxMbn!rRL<enter>Z[]yYJK<>''m1" + "5g" + ":17<enter>" + "F")
        assert "no steps are recorded" in debugger.text or debugger.view.zoomed
        assert debugger.status.startswith("0/0")

    debug(recorded_dsn, EMPTY, act)


def test_a_run_that_failed_before_its_first_step_shows_its_error(schema_dsn: str) -> None:
    """Whole, and the step of an address is said not to be there."""
    add_run(
        schema_dsn, EMPTY, status="failed", error=Jsonb({"type": "TypeError", "message": "no model\nm" * 40})
    )

    async def act(debugger: Debugging) -> None:
        assert "FAILED TypeError" in debugger.text
        assert "step 5: the run has no steps" in debugger.status
        assert debugger.heading(Pane.OUTPUT).startswith("[OUTPUT] the run raised ")
        assert debugger.rows(Pane.OUTPUT)[:2] == ["TypeError: no model", "mno model"]
        await debugger.press("z>")
        assert debugger.rows(Pane.OUTPUT)[-1] == "the run raised this before any step was recorded"

    debug(schema_dsn, EMPTY, act, step=5)


@pytest.mark.parametrize("size", [(59, 24), (40, 12), (30, 8), (20, 4), (10, 3)])
def test_below_sixty_columns_one_pane_is_shown_at_a_time(recorded_dsn: str, size: tuple[int, int]) -> None:
    """Tab still reaches all of them; the strip and the status stay."""

    async def act(debugger: Debugging) -> None:
        seen = set()
        for _ in range(4):
            shown = [pane for pane in Pane if debugger.rows(pane)]
            assert len(shown) <= 1
            seen.add(debugger.view.pane)
            await debugger.press("<tab>n")
        assert seen == set(Pane) - {Pane.TABLES, Pane.AGENT}
        assert debugger.status[:3] == "9/5"
        assert len(debugger.text.splitlines()) == size[1]

    debug(recorded_dsn, LOOPING, act, step=5, size=size)


@pytest.mark.parametrize("leave", ["q", "<escape>"])
def test_a_diff_and_a_zoom_are_left_before_the_run(recorded_dsn: str, leave: str) -> None:
    """The last line says what else leads back; where no diff is in view, none is left."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("zd")
        assert debugger.text.splitlines()[-1].startswith("z back d back n/p step")
        await debugger.press(leave)
        assert not debugger.view.diff
        assert debugger.text.splitlines()[-1].startswith("z back n/p step")
        await debugger.press(leave)
        assert not debugger.view.zoomed
        assert " back" not in debugger.text.splitlines()[-1]
        await debugger.press("dn<escape>")
        assert debugger.view.diff
        await debugger.press(f"p{leave}")
        assert not debugger.view.diff
        await debugger.press("<escape>")
        assert debugger.number == 6

    debug(recorded_dsn, LOOPING, act, step=6)


def test_the_command_runs_leaves_the_run_also_from_a_diff(recorded_dsn: str) -> None:
    async def act(debugger: Debugging) -> None:
        await debugger.press("d:runs<enter>")
        assert debugger.app.return_value == 0
        assert not debugger.is_open

    debug(recorded_dsn, LOOPING, act, step=6)


def test_a_terminal_may_be_resized_at_any_time(recorded_dsn: str) -> None:
    """Zoomed or not, with or without a prompt, and what is shown fits each time."""

    async def act(debugger: Debugging) -> None:
        for typed in ("g", "z", "<tab>z", "d", ":"):
            await debugger.press(typed)
            for width, height in ((300, 100), (40, 12), (1, 1), (59, 5), (80, 24)):
                await debugger.pilot.resize_terminal(width, height)
                await debugger.settle()
                rows = debugger.text.splitlines()
                assert len(rows) <= height
                assert max(map(len, rows)) <= width
        assert "#TSLTL" in debugger.text

    debug(recorded_dsn, LOOPING, act, step=5)
