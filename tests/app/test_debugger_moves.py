"""Moves in the debugger: where they lead, and what the status line says where they lead nowhere."""

import threading
from functools import partial
from uuid import UUID

import pytest

from stepwell.app.geometry import Pane
from stepwell.app.messages import Moved
from stepwell.app.screens.debugger import DebuggerScreen
from stepwell.app.screens.runs import RunsScreen
from stepwell.core.world import Moment
from stepwell.store.connect import resolve
from tests.app.recorded import DIED, LOOPING, SWARM
from tests.app.stepping import CountingMover, Debugging, debug, keys, pressed


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("12n", 17),
        ("3p", 2),
        ("17g", 17),
        ("17G", 17),
        ("50%", 26),
        ("0n", 6),  # a count does not begin with 0
        ("12<escape>n", 6),
        ("12<backspace>n", 6),
        ("9a3n", 8),  # a key that takes no count uses it up
        ("3x2n", 7),
        ("3#2n", 7),
        ("3b2<escape>4n", 9),
        ("3<tab>n", 6),
        (":17<enter>", 17),
        (":50%<enter>", 26),
        (":@12:00:30<enter>", 34),
        (":@+30s<enter>", 34),
        (":7f3a:9<enter>", 9),
        ("bt3c", 11),
        ("!''", 5),
        ("GG17g''''", 5),
        ("3r", 11),
        ("GL", 5),
    ],
)
def test_counts_and_places(typed: str, number: int, recorded_dsn: str) -> None:
    """From step 5 of the looping run."""
    assert pressed(recorded_dsn, LOOPING, typed, step=5).number == number


def test_a_run_that_opens_at_a_step_beyond_its_last_is_at_that(recorded_dsn: str) -> None:
    """As where a branch leaves a run later than that has steps."""
    debugger = pressed(recorded_dsn, LOOPING, "", step=99)
    assert debugger.number == 52
    assert "step 99: the run has 1-52" in debugger.status


@pytest.mark.parametrize(
    ("typed", "number", "words"),
    [
        ("Gn", 52, "at the last step"),
        ("gp", 1, "at the first step"),
        ("99n", 52, "at the last step"),
        ("99g", 5, "step 99: the run has 1-52"),
        (":0<enter>", 5, "step 0: the run has 1-52"),
        ("%", 5, "a number first: 50%"),
        ("c", 52, "no breakpoint is set; '' returns"),
        ("C", 1, "no breakpoint is set; '' returns"),
        ("bnGC", 51, "hit search_orders"),
        ("bnGc", 52, "no further hit"),
        ("bn51gc", 52, "no further hit; '' returns"),
        ("bnC", 1, "no further hit; '' returns"),
        ("''", 5, "no jump to undo"),
        ("!!", 52, "no further error"),
        ("GrR", 51, "lap 24 of 24, search_orders"),
        ("GGr", 52, "no further lap"),
        ("gR", 1, "no earlier lap"),
        ("g<enter>", 1, "nothing to fold here"),
        (".", 5, "nothing was searched for yet: / searches"),
        ("'q", 5, "no bookmark 'q'; set: none"),
        ("m1", 5, "a bookmark is a letter, a-z or A-Z"),
        ("#", 5, "no key #; ? lists the keys"),
        ("<f5>", 5, "no key f5; ? lists the keys"),
        ("d", 5, "not a prompt: d and M are for model calls"),
        ("M", 5, "not a prompt: d and M are for model calls"),
        ("bx", 5, "no such breakpoint: bn name, bt type, be errors, bl laps"),
        (":frobnicate<enter>", 5, "! no command 'frobnicate'"),
        (":break lap:x<enter>", 5, "!"),
    ],
)
def test_ends_are_said(typed: str, number: int, words: str, recorded_dsn: str) -> None:
    """Where a move leads no further one is told, and told how to get back."""
    seen = pressed(recorded_dsn, LOOPING, typed, step=5)
    assert (seen.number, words in seen.status) == (number, True), seen.status


@pytest.mark.parametrize(
    "typed",
    ["'q<tab>", "'qJ", "'qn", "'q<escape>", ":frobnicate<enter>x", ":0<enter>z", "'q1<escape>", "'q?q"],
)
def test_a_message_is_gone_with_the_next_key(typed: str, recorded_dsn: str) -> None:
    """Whatever the key does, or does not do."""
    assert "SERIALIZABLE" in (status := pressed(recorded_dsn, LOOPING, typed, step=5).status)
    assert not any(words in status for words in ("no bookmark", "no command", "step 0", "!"))


def test_a_message_that_is_said_again_stays(recorded_dsn: str) -> None:
    """The key that it is gone with is not the one that says it."""
    assert "at the last step" in pressed(recorded_dsn, LOOPING, "Gnn", step=5).status


def test_a_key_that_asks_for_nothing_moves_no_focus(recorded_dsn: str) -> None:
    """`d` on a tool call."""
    seen = pressed(recorded_dsn, LOOPING, "<tab>d", step=5)
    assert (seen.view.pane, seen.view.diff) == (Pane.STATE, False)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("$.output[1]", '$.output[1] = {"id": 8109, "item": "lamp", "status": "ok"}'),
        ("$.input.query", '$.input.query = "broken lamp order 8841"'),
        ("$.output[999]", "! no $.output[999]: $.output is a list of 230"),
        ("$.nothing", "! no $.nothing: $ is an object with the keys 'input', 'output'"),
    ],
)
@pytest.mark.parametrize("typed", [False, True])
def test_a_path_tells_its_value(path: str, words: str, typed: bool, recorded_dsn: str) -> None:
    """On opening at it, and on going to it."""

    async def act(debugger: Debugging) -> None:
        if typed:
            await debugger.press(f":7f3a:5:{path}<enter>")
        await debugger.until(lambda: words[:40] in debugger.status)
        assert debugger.number == 5
        assert words in debugger.status
        await debugger.press("J")
        assert words not in debugger.status

    debug(recorded_dsn, LOOPING, act, step=None if typed else 5, size=(130, 24), path="" if typed else path)


def test_a_folded_loop_is_one_step(recorded_dsn: str) -> None:
    """Next steps over all laps but the first; back returns to the row that stands for them."""
    assert pressed(recorded_dsn, LOOPING, "<enter>nnn", step=5).number == 52
    assert pressed(recorded_dsn, LOOPING, "<enter>nnnp", step=5).number == 7


def test_going_into_a_fold_unfolds_it(recorded_dsn: str) -> None:
    """A step that was asked for by its number is shown."""
    seen = pressed(recorded_dsn, LOOPING, "<enter>20g", step=5)
    assert (seen.number, seen.view.timeline.folded) == (20, frozenset())


def test_a_folded_parent_is_one_step(recorded_dsn: str) -> None:
    """What `ask_both` called lies behind it."""
    seen = pressed(recorded_dsn, SWARM, "<enter>n", step=3)
    assert seen.number == 9
    assert "+5" in seen.text


def test_asked_and_after_are_two_worlds(recorded_dsn: str) -> None:
    """Before the first state step there was no state; after it there is."""
    after = pressed(recorded_dsn, LOOPING, "", step=3)
    asked = pressed(recorded_dsn, LOOPING, "a", step=3)
    assert after.view.world is not None
    assert asked.view.world is not None
    assert (after.view.world.moment, asked.view.world.moment) == (Moment.AFTER, Moment.ASKED)
    assert (after.view.world.states, asked.view.world.states) == (
        {"triage": {"plan": ["find order", "refund"], "tries": 3, "customer": 42}}, {},
    )  # fmt: skip
    assert "asked 3" in asked.text


def test_the_moment_stays_while_stepping(recorded_dsn: str) -> None:
    """Who looks at worlds as they were asked goes on doing so, until told otherwise."""
    assert "asked" in pressed(recorded_dsn, LOOPING, "an", step=5).status
    assert "after" in pressed(recorded_dsn, LOOPING, "ana", step=5).status


def test_a_search_stops_where_the_text_first_appears(recorded_dsn: str) -> None:
    """Ada is in the first prompt and in what `get_customer` returned; 48 later prompts repeat her."""

    async def act(debugger: Debugging) -> None:
        seen = []
        for typed in ("/ada<enter>", ".", ".", ";", ";"):
            await debugger.press(typed)
            seen.append((debugger.number, debugger.status.split("  ")[1]))
        assert seen == [
            (1, "hit 1 of 2, went round"),
            (2, "hit 2 of 2"),
            (1, "hit 1 of 2, went round"),
            (2, "hit 2 of 2, went round"),
            (1, "hit 1 of 2"),
        ]

    debug(recorded_dsn, LOOPING, act, step=5)


def test_a_search_without_a_text_goes_on_with_the_last_one(recorded_dsn: str) -> None:
    """As in less."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("/Ada<enter>")
        await debugger.press("/<enter>")
        assert debugger.number == 2

    debug(recorded_dsn, LOOPING, act)


def test_a_search_that_finds_nothing_stays(recorded_dsn: str) -> None:
    """And says so."""
    seen = pressed(recorded_dsn, LOOPING, "/flying saucer<enter>", step=5)
    assert (seen.number, "not found: flying saucer" in seen.status) == (5, True)


def test_a_search_that_finds_nothing_leaves_the_one_before(recorded_dsn: str) -> None:
    """`.` goes on with the last text that was found; without one it says what was not."""

    async def act(debugger: Debugging) -> None:
        await debugger.press("/nosuchtext<enter>.")
        assert (debugger.number, "not found: nosuchtext" in debugger.status) == (5, True)
        await debugger.press("/Ada<enter>")
        first = debugger.number
        await debugger.press("/nosuchtext<enter>")
        assert "not found: nosuchtext" in debugger.status
        await debugger.press(".")
        assert {first, debugger.number} == {1, 2}

    debug(recorded_dsn, LOOPING, act, step=5)


def test_fifty_keys_in_a_burst_are_a_few_replays(recorded_dsn: str) -> None:
    """Keys that come while a move is replayed become one move."""
    let = threading.Event()
    let.set()

    class Slow(CountingMover):
        def move(self, number: int, moment: Moment, *, whole: bool = False) -> Moved:
            assert let.wait(20)
            return super().move(number, moment, whole=whole)

    mover = Slow(resolve(recorded_dsn), LOOPING)

    async def act(debugger: Debugging) -> None:
        opening = mover.moves
        let.clear()
        for key in keys("n" * 50):
            debugger.app.post_message(key)
        await debugger.until(lambda: debugger.number == 51 and debugger.app.keyboard.idle)
        let.set()
        await debugger.settle()
        assert 1 <= mover.moves - opening <= 3  # the first, the one that waited for it, the last
        assert debugger.view.world is not None
        assert debugger.view.world.number == 51

    debug(recorded_dsn, LOOPING, act, mover=mover)


def test_an_address_of_another_run_opens_it_instead(recorded_dsn: str) -> None:
    """However many runs one has been to, q goes out."""

    async def act(debugger: Debugging) -> None:
        await debugger.press(f":{DIED}:5<enter>")
        await debugger.until(lambda: debugger.screen.start.run.run_id == DIED and debugger.screen.settled)
        assert debugger.number == 5
        assert "in doubt" in debugger.heading(Pane.OUTPUT)
        await debugger.press(f":{SWARM}<enter>")
        await debugger.until(lambda: debugger.screen.start.run.run_id == SWARM and debugger.screen.settled)
        await debugger.send("q")
        await debugger.ended()

    assert debug(recorded_dsn, LOOPING, act, step=9).return_value == 0


def is_at(debugger: Debugging, run: UUID) -> bool:
    return debugger.screen.start.run.run_id == run and debugger.screen.view is not None


def test_from_the_list_another_run_goes_back_to_the_list(recorded_dsn: str) -> None:
    """In one step."""

    async def act(debugger: Debugging) -> None:
        for run in (DIED, SWARM):
            await debugger.press(f":{run}<enter>")
            await debugger.until(partial(is_at, debugger, run))
            await debugger.settle()
        await debugger.send("q")
        await debugger.until(lambda: isinstance(debugger.app.screen, RunsScreen))

    debug(recorded_dsn, LOOPING, act, listed=True)


def test_an_address_of_no_run_is_said(recorded_dsn: str) -> None:
    """One stays where one is."""

    async def act(debugger: Debugging) -> None:
        await debugger.press(":dddd:5<enter>")
        await debugger.until(lambda: debugger.status.startswith("! no run's id begins with dddd"))

    debug(recorded_dsn, LOOPING, act)


def test_commands_leave_the_screen(recorded_dsn: str) -> None:
    """:quit leaves the app, :runs the debugger."""
    app = debug(recorded_dsn, LOOPING, lambda debugger: debugger.press(":quit<enter>"))
    assert not any(isinstance(screen, DebuggerScreen) and screen.is_current for screen in app.screen_stack)
    assert app.return_value is None
