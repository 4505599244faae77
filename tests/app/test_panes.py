"""The lines around the panes: title, strip, timeline, headings, status, keys."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from stepwell.app.geometry import Pane
from stepwell.app.panes.bars import keys_line, status_line, title_line
from stepwell.app.panes.heading import heading_line
from stepwell.app.panes.strip import strip_lines, strip_rows
from stepwell.app.panes.timeline import timeline_lines
from stepwell.app.present import Line, Role, cells, line_text
from stepwell.app.rerun import Rerun
from stepwell.app.view import View
from stepwell.app.widgets.lines import Position
from stepwell.core.breakpoints import Breakpoint, OnName
from stepwell.core.moves import toggle_fold
from stepwell.core.rerun import Report
from stepwell.core.steps import Payload, RunHead, StepHead
from stepwell.core.timeline import Timeline, build
from stepwell.core.world import Moment, Replay, World
from tests.core.heads import BEGIN, RUN_ID, calls, model, run, script, tool, unfinished

REPLAY = Replay("SERIALIZABLE READ ONLY DEFERRABLE", 3.2, 11, 1, "finish")
WIDTHS = (1, 10, 40, 59, 80, 120, 300)


def view(timeline: Timeline, cursor: int = 0, replay: Replay = REPLAY, **changes: Any) -> View:
    """A settled view of a step."""
    timeline = timeline.at(cursor) if timeline.steps else timeline
    step = timeline.current
    world = None
    if step is not None:
        world = World(
            run_id=RUN_ID, number=step.number, moment=Moment.AFTER, step=step, payload=Payload(step.number),
            states={}, set_at={}, changed=(), last={}, running=(), tokens_in=1234, tokens_out=56,
            clock=BEGIN + timedelta(seconds=step.number), replay=replay,
        )  # fmt: skip
    return replace(View(timeline, "7f3a", "agents@db1", world), **changes)


def title(head: RunHead, steps: list[StepHead], width: int = 80) -> str:
    return line_text(title_line(view(build(head, steps)), width)).rstrip()


FAILED = replace(run("failed"), name="refund-triage", error="shop.agent.MaxTurnsError: 25 turns")
HANGS = "hangs at triage.py:58 in triage, after 30 s"
GONE = "was killed by SIGKILL; most likely the system was out of memory"


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (Report(6), "FAILED MaxTurns  AGENT same to 0"),
        (Report(6, refused=HANGS), "FAILED MaxTurns  AGENT hangs at triage.py:58"),
        (Report(6, refused=GONE), "FAILED  AGENT was killed by SIGKILL; most"),
    ],
)
def test_for_want_of_room_what_the_agent_did_is_told_before_why_the_run_failed(
    report: Report, says: str
) -> None:
    """READ ONLY stays."""
    seen = replace(view(build(FAILED, script("LaaLaa!?"))), agent=Rerun(report, to=6))
    line = line_text(title_line(seen, 80))
    assert says in line
    assert line.endswith("READ ONLY")
    assert len(line) == 80


def test_the_title_says_what_became_of_the_run() -> None:
    """How it ended, why, how it looped, where it is, and that nothing can be changed."""
    looping = [model(1), *[replace(step, number=step.number + 1) for step in calls("aaaa")]]
    line = title(FAILED, looping, 90)
    assert line.startswith("refund-triage 7f3a  FAILED MaxTurns  loop 4 laps from 2   ")
    assert line.endswith(" agents@db1 READ ONLY")
    assert len(line) == 90


def test_the_title_names_what_is_in_doubt() -> None:
    """Of a run whose process died."""
    head = replace(run("died"), name="mailer", unfinished=1, unfinished_name="send_email")
    assert title(head, [unfinished(1)]).startswith("mailer 7f3a  DIED in doubt: send_email ")


def test_a_run_without_a_name_is_a_run() -> None:
    """And one of whose end nothing is recorded is unknown."""
    assert title(run("unknown"), calls("a")).startswith("run 7f3a  UNKNOWN ")


@pytest.mark.parametrize("name", ["n" * 500, "名" * 200], ids=["long", "wide"])
def test_a_long_name_hides_nothing(name: str) -> None:
    """It gives way to the status, and READ ONLY is said all the same."""
    line = title(replace(FAILED, name=name), calls("a"))
    assert "7f3a  FAILED MaxTurns" in line
    assert line.endswith("READ ONLY")


def test_a_long_error_hides_nothing() -> None:
    """Some put the whole message into the name of the class."""
    line = title(replace(FAILED, error="E" * 500), calls("a"))
    assert line.startswith("refund-triage 7f3a  FAILED EEEE")
    assert line.endswith("READ ONLY")


@pytest.mark.parametrize("width", WIDTHS)
def test_every_line_has_exactly_the_width_of_the_terminal_or_less(width: int) -> None:
    """Whatever is in it."""
    seen = view(build(FAILED, script("LaaLaa!?")), 3, message="m" * 100)
    seen = replace(seen, agent=Rerun(Report(6, refused=GONE), to=6))
    lines: list[Line] = [
        title_line(seen, width),
        status_line(seen, width),
        keys_line(width),
        *strip_lines(seen, width, 1),
        *(timeline_lines(seen, width, 5, durations=width >= 30) if width >= 20 else []),
    ]
    assert all(sum(cells(span.text) for span in line) <= width for line in lines)


def status(seen: View, width: int = 80) -> str:
    return line_text(status_line(seen, width)).rstrip()


def test_the_status_tells_the_truth_about_the_replay() -> None:
    """What was folded, how long it took, at which level, and that it was rolled back."""
    seen = view(build(run(), calls("abcdefgh")), 4)
    assert status(seen) == "5/8 62% after  11:41:08Z  1.2k+56 tok  1-5 3ms  SERIALIZABLE rolled back"
    assert status(seen, 120) == (
        "5/8 62% after  11:41:08Z  1.2k+56 tok  folded 1-5 (1 state) in 3 ms"
        "  SERIALIZABLE READ ONLY DEFERRABLE, rolled back"
    )


def test_the_status_tells_what_was_folded_before() -> None:
    """And found unchanged by this move."""
    seen = view(build(run(), calls("abcdefgh")), 4, replay=replace(REPLAY, kept=3))
    assert "  4-5 3ms  " in status(seen)
    assert "  folded 4-5 on 1-3 kept (1 state) in 3 ms  " in status(seen, 130)


def test_the_status_says_when_it_is_not_serializable() -> None:
    """And why."""
    replay = replace(REPLAY, isolation="REPEATABLE READ READ ONLY", notes=("standby",))
    found = status(view(build(run(), calls("ab")), replay=replay))
    assert "REPEATABLE READ rolled back" in found
    assert "standby" in found
    assert "SERIALIZABLE" not in found


def test_the_status_says_when_the_order_is_only_that_of_the_numbers() -> None:
    """Where the order of finishing is not recorded."""
    replay = replace(REPLAY, ordered_by="number")
    assert "ordered by number" in status(view(build(run(), calls("ab")), replay=replay), 100)


def test_what_a_move_came_to_outlives_everything_else() -> None:
    """Time, tokens and milliseconds go first where it gets narrow."""
    words = "no further hit; '' returns"
    assert words in status(view(build(run(), calls("ab")), message=words), 50)
    assert status(view(build(run(), calls("ab")), message=words), 20).startswith("no further hit; ''")


def test_an_error_has_the_line_for_itself() -> None:
    """One line, whatever is in it."""
    found = status(view(build(run(), calls("ab")), error="no table\nagent_steps \x1b[2J"))
    assert found.startswith("! no table")
    assert "\x1b" not in found
    assert "\n" not in found


def test_while_a_move_is_replayed_it_says_so() -> None:
    """Instead of telling the truth about another step."""
    seen = view(build(run(), calls("ab")))
    waiting = replace(seen, timeline=seen.timeline.at(1), busy=True)
    assert status(waiting) == "2/2 100% after  replaying…"


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"behind": 12}, "LIVE +12 new"), ({"follow": True}, "FOLLOW"), ({}, "LIVE")],
)
def test_a_live_run_says_so(changes: dict[str, Any], words: str) -> None:
    """How many steps came since one left its tail."""
    assert f"1/2+ 50% after  {words}  " in status(view(build(run("running"), calls("ab")), **changes))


def heading(pane: Pane, label: str, position: Position, width: int = 49, *, chosen: bool = False) -> str:
    return line_text(heading_line(pane, label, position, width, chosen=chosen))


def test_a_heading_says_what_and_where() -> None:
    """`all`, or the lines in view; a plus where more of them may follow."""
    assert heading(Pane.OUTPUT, "12.4 KB", Position(1, 6, 412, True)) == (
        "OUTPUT- 12.4 KB ------------------------- 1-6/412"
    )
    assert heading(Pane.STATE, "", Position(1, 3, 3, True)).endswith("- all")
    assert heading(Pane.OUTPUT, "10 MB", Position(1, 6, 1300, False)).endswith("- 1-6/1,300+")
    assert heading(Pane.INPUT, "x", Position(1, 1, 1, True), chosen=True).startswith("[INPUT] x -")


@pytest.mark.parametrize("width", range(20, 60))
def test_a_heading_fits(width: int) -> None:
    """A long label gives way."""
    line = heading_line(Pane.OUTPUT, "search_orders" * 9, Position(1, 6, 412, True), width, chosen=True)
    assert sum(cells(span.text) for span in line) == width


def rows(seen: View, width: int = 30, height: int = 20) -> list[str]:
    return [line_text(line).rstrip() for line in timeline_lines(seen, width, height, durations=width >= 30)]


def test_the_timeline_flags_what_stands_out() -> None:
    """Breakpoints, errors, doubts, state written and laps, by letters."""
    timeline = build(run("died"), script("LaaS!?"), breakpoints=[Breakpoint(OnName("tool_a"))])
    assert [" ".join(row.split()) for row in rows(view(timeline))[:6]] == [
        "> 1 L gpt", "* 2 T tool_a", "* 3 T tool_a o2", "4 S state w", "5 L gpt !", "6 T send_email ?",
    ]  # fmt: skip


def test_the_timeline_turns_pages() -> None:
    """It does not scroll under the cursor."""
    timeline = build(run(), calls("abcdefghij"))
    assert rows(view(timeline, 2), height=3) != rows(view(timeline, 3), height=3)
    assert rows(view(timeline, 3), height=3)[0].split()[:2] == [">", "4"]


def test_the_last_page_of_the_timeline_is_full() -> None:
    """Aligned to the end, though few rows are left; a run that goes on leaves room for what comes."""
    ended, going_on = build(run(), calls("abcd")), build(run("running"), calls("abcd"))
    assert [row.split()[-1] for row in rows(view(ended, 3), height=3)] == ["tool_b", "tool_c", "tool_d"]
    assert rows(view(ended, 2), height=3)[0].split()[-1] == "tool_a"
    assert rows(view(going_on, 3), height=3)[1:] == ["", ""]
    assert len(rows(view(ended, 3), height=9)) == 9


def test_a_row_that_stands_for_others_says_for_how_many() -> None:
    """For which laps of a loop, which have no one time that they took; or for how many steps it called."""
    looped = toggle_fold(build(run(), calls("aaaaa")).at(0)).timeline
    assert rows(view(looped))[1].split() == ["2", "T", "tool_a", "o2-5"]
    timed = [replace(tool(n), name="search_orders", started=BEGIN, finished=BEGIN) for n in range(1, 25)]
    cut = view(toggle_fold(build(run(), timed)).timeline, cut=frozenset({2}))
    assert rows(cut)[1] == "     2 T search_orders  xo2-24"
    parent = toggle_fold(build(run(), [tool(1), model(2, parent=1), model(3, parent=1)]).at(0)).timeline
    assert "tool_a" in rows(view(parent))[0]
    assert "+2" in rows(view(parent))[0]


def test_a_bookmark_is_shown_in_the_row_of_its_step() -> None:
    """By its letter, also where several stand at a step that stands for laps."""
    timeline = build(run(), calls("aaaaab"), bookmarks={"x": 1, "b": 2, "A": 2})
    assert [row.split()[-1] for row in rows(view(timeline))[:3]] == ["'x", "o2'Ab", "o3"]
    assert rows(view(toggle_fold(timeline).timeline))[1].split()[-1] == "o2-5'Ab"


def test_unknown_types_and_missing_names_are_shown_for_what_they_are() -> None:
    """An initial, or a dash where there is none."""
    steps = [StepHead(4, "plan", True), StepHead(9, "名", True), StepHead(10, "", True)]
    assert [row.split()[-2:] for row in rows(view(build(run(), steps), 2))[:2]] == [
        ["P", "plan"],
        ["-", "名"],
    ]


def test_an_empty_run_says_so() -> None:
    """In the timeline, and with an empty strip."""
    seen = view(build(run(), []))
    assert rows(seen)[0] == "no steps are recorded"
    assert status(seen).startswith("0/0 after")
    assert line_text(strip_lines(seen, 80, 1)[0]).strip() == ""


def test_one_agent_has_a_strip_and_more_have_lanes() -> None:
    """At most four, and always that of the cursor."""
    steps = [tool(number, agent=name) for number, name in enumerate("abcdef", 1)]
    alone, many = view(build(run(), calls("ab"))), view(build(run(), steps), 5)
    assert (strip_rows(alone), strip_rows(many)) == (1, 4)
    assert [line_text(line)[0] for line in strip_lines(many, 80, 4)] == ["a", "b", "c", "f"]


def test_the_last_lane_says_how_many_agents_have_none() -> None:
    """However long its name is, in the cells that names have."""
    names = ("triage", "researcher", "writer-of-mails")
    seen = view(build(run(), [tool(number, agent=name) for number, name in enumerate(names, 1)]))
    assert [line_text(line)[:9] for line in strip_lines(seen, 80, 2)] == ["triage  #", "res… +1 ."]
    assert all("+" not in line_text(line) for line in strip_lines(seen, 80, 3))


def test_errors_stand_out_in_the_strip_without_colour() -> None:
    """`!`, `?`, and `#` for the cursor."""
    line = strip_lines(view(build(run("died"), script("La!?"))), 80, 1)[0]
    assert line_text(line).strip() == "#T!?"
    assert [span.text for span in line if span.role is Role.ERROR] == ["!", "?"]


def test_the_keys_that_fit_are_shown_whole() -> None:
    """No half of a key's name."""
    whole = line_text(keys_line(200)).split()
    for width in range(200):
        assert line_text(keys_line(width)).split() == whole[: len(line_text(keys_line(width)).split())]


def test_the_keys_that_matter_most_are_shown_everywhere() -> None:
    for width in (60, 80, 120):
        shown = line_text(keys_line(width))
        assert all(key in shown for key in ("t tables", "s SQL", "? keys", "q out"))
    assert all(key in line_text(keys_line(80)) for key in ("b break", ": goto", "/ find", "Tab pane"))
    assert "T browse" in line_text(keys_line(120))


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("shop.agent.MaxTurnsError: 25 turns", "MaxTurns"),
        ("shop.agent.MaxTurnsExceeded: 25 turns", "MaxTurnsExceeded"),
        ("TypeError: no", "TypeError"),
        ("openai.APIError: no", "APIError"),
        ("Error", "Error"),
    ],
)
def test_a_short_name_of_an_error_is_one_that_can_be_read(error: str, name: str) -> None:
    """`Error` is left out only of a name that goes on meaning the same."""
    assert f"  FAILED {name}  " in title(replace(FAILED, error=error), calls("a")) + "  "
