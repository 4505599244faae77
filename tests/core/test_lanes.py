"""The whole run in one line, or in a line an agent."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.steps import StepHead
from stepwell.core.timeline import Timeline, build

from .heads import BEGIN, model, run, script, tool, unfinished


def strip(text: str, width: int = 80, *, at: int = 0, status: str = "ok") -> str:
    return build(run(status), script(text)).at(at).strip(width)


def test_a_letter_a_step_lower_case_from_the_second_lap_on() -> None:
    assert strip("LaSLbLbLbL") == "#TSLTLtltL"


def test_errors_and_doubts_show_themselves() -> None:
    assert strip("La!?") == "#T!?"
    assert strip("La!?", status="running") == "#T!~"


def test_a_grouped_cell_shows_its_worst_mark() -> None:
    assert strip("LLLLabLLL?!L", 4) == "#TL!"
    assert strip("LLLabLLLLL?L", 4) == "#TL?"
    assert strip("LLLabLLLL?LL", 4, status="running") == "#TL~"


def test_a_grouped_cell_shows_the_kind_that_is_rarest_in_the_run() -> None:
    rare = "aS" * 50 + "L" + "aS" * 50
    assert strip(rare, 8) == "#tttlttt"
    assert strip("L" * 40 + "a" + "L" * 40, 9) == "#LLLTLLLL"


def test_a_grouped_cell_is_small_where_all_of_that_kind_are_further_laps() -> None:
    assert strip("LSLSLSLS" + "Lb" * 16, 10) == "#SLlllllll"


@given(st.integers(900, 1100), st.integers(20, 80))
def test_an_even_run_looks_even_wherever_the_borders_of_cells_fall(steps: int, width: int) -> None:
    even = [replace(step, call_hash=None) for step in script("LaSaSaSaSaS" * 100)][:steps]
    assert build(run(), even).strip(width) == "#" + "L" * (width - 1)
    plain = [replace(step, call_hash=None) for step in script("aS" * 550)][:steps]
    assert build(run(), plain).strip(width) == "#" + "T" * (width - 1)


def test_the_cursor_covers_any_mark() -> None:
    assert strip("La!", at=2) == "LT#"


def test_an_unknown_step_type_shows_its_initial_if_that_is_a_letter() -> None:
    steps = [StepHead(1, "llm_call"), StepHead(2, "note"), StepHead(3, "\x1b[31m"), StepHead(4, "")]
    steps = [replace(step, has_output=True) for step in steps]
    assert build(run(), steps).strip(9) == "#N--"


@given(st.text("LaS!?", max_size=50), st.integers(-1, 60), st.data())
def test_the_strip_is_as_long_as_the_run_or_as_wide_as_there_is_room(
    text: str, width: int, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, max(len(text) - 1, 0)))
    timeline = build(run(), script(text))
    cells = (timeline.at(at) if text else timeline).strip(width)
    assert len(cells) == min(len(text), max(width, 0))
    assert cells.count("#") == (1 if cells else 0)


def swarm() -> list[StepHead]:
    """Agent a asks at second 3 and has its answer at second 7; b and c go on meanwhile."""
    steps = [
        model(1, agent="triage"),
        model(2, agent="triage"),
        model(3, agent="a"),
        model(4, agent="b"),
        tool(5, agent="c"),
        tool(6, agent="b"),
        model(7, agent="triage"),
    ]
    timed = [
        replace(
            step,
            started=BEGIN + timedelta(seconds=step.number),
            finished=BEGIN + timedelta(seconds=step.number),
        )
        for step in steps
    ]
    timed[2] = replace(timed[2], finished=BEGIN + timedelta(seconds=7))
    return timed


def lanes(timeline: Timeline, width: int = 40, limit: int = 4) -> dict[str | None, str]:
    return {lane.agent: lane.cells for lane in timeline.lanes(width, limit)}


def test_a_lane_an_agent_and_a_call_spans_what_began_while_it_ran() -> None:
    assert lanes(build(run(), swarm()).at(5)) == {
        "triage": "LL....L",
        "a": "..L===.",
        "b": "...L.#.",
        "c": "....T..",
    }


def test_a_call_still_running_spans_to_the_end() -> None:
    steps = [*swarm()[:2], unfinished(3, agent="a"), model(4, agent="triage")]
    assert lanes(build(run("running"), steps))["a"] == "..T="
    assert lanes(build(run("died"), steps))["a"] == "..?."


def test_the_lane_of_the_cursor_is_always_shown() -> None:
    timeline = build(run(), swarm())
    assert list(lanes(timeline, limit=2)) == ["triage", "a"]
    assert list(lanes(timeline.at(4), limit=2)) == ["triage", "c"]


def test_lanes_are_grouped_as_the_strip_is() -> None:
    assert all(len(cells) == 3 for cells in lanes(build(run(), swarm()), 3).values())


def test_one_agent_needs_no_lanes() -> None:
    assert build(run(), script("LaL")).lanes(40) == ()
    assert build(run(), []).lanes(40) == ()
