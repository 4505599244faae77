"""A live run's timeline, extended again and again, is the one that would be built anew; folds are naive folds."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.core.breakpoints import Breakpoint, Condition, OnError, OnLap, OnName, OnType
from stepwell.core.folding import Fold, RowKind
from stepwell.core.heads import Heads
from stepwell.core.laps import Laps, by_agent
from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL, StepHead
from stepwell.core.timeline import Timeline, build

from . import naive
from .heads import BEGIN, calls, run

CONDITIONS: tuple[Condition, ...] = (OnName("tool_a"), OnType(LLM_CALL), OnError(), OnLap(), OnLap(3))
cycles = st.lists(st.tuples(st.text("abc", min_size=1, max_size=8), st.integers(1, 12)), max_size=5).map(
    lambda parts: "".join(cycle * laps for cycle, laps in parts)
)


@st.composite
def swarms(draw: st.DrawFn) -> list[StepHead]:
    """Steps of up to three agents that overlap, nest, repeat, fail and stay in doubt."""
    steps: list[StepHead] = []
    second = 0
    for number in range(1, draw(st.integers(0, 30)) + 1):
        second += draw(st.integers(0, 2))
        began = BEGIN + timedelta(seconds=second)
        kind = draw(st.sampled_from([LLM_CALL, TOOL_CALL, TOOL_CALL, TOOL_CALL, STATE_UPDATE]))
        how = draw(st.sampled_from(["done"] * 6 + ["raised", "in doubt"]))
        name = draw(st.sampled_from("ab"))
        finished = how != "in doubt"
        steps.append(
            StepHead(
                number,
                kind,
                how == "done",
                agent=draw(st.sampled_from([None, "x", "y"])),
                name=f"tool_{name}",
                parent=draw(st.none() | st.none() | st.integers(1, 31)),
                started=began,
                finished=began + timedelta(seconds=draw(st.integers(0, 9))) if finished else None,
                error="Boom: no" if how == "raised" else None,
                call_hash=ord(name) if kind == TOOL_CALL and finished else None,
            )
        )
    return steps


def unfinished(step: StepHead) -> StepHead:
    """The same while it was still under way."""
    return StepHead(
        step.number, step.type, agent=step.agent, name=step.name, parent=step.parent, started=step.started
    )


def look(timeline: Timeline) -> tuple[object, ...]:
    """All that a screen asks of a timeline."""
    outline, size = timeline.outline, len(timeline.steps)
    agents = list(outline.by_agent)
    return (
        [list(outline.by_agent[agent]) for agent in agents],
        agents,
        list(timeline.visible),
        [timeline.layout.row_of(index) for index in range(size)],
        [timeline.flags(index) for index in range(size)],
        timeline.loops,
        [outline.place(index) for index in range(size)],
        list(outline.laps.starts),
        outline.marks,
        [outline.agent_marks(agent) for agent in agents],
        [list(outline.hits(condition)) for condition in CONDITIONS],
        list(outline.times.values),
        list(outline.times.indexes),
    )


def every_fold(timeline: Timeline) -> list[Fold]:
    loops = [Fold(RowKind.LAPS, loop.first) for loop in timeline.loops]
    parents = [
        Fold(RowKind.PARENT, timeline.steps[index].number) for index in timeline.outline.nesting.descendants
    ]
    return sorted([*loops, *parents], key=lambda fold: (fold.kind, fold.number))


@settings(deadline=None)
@given(swarms(), st.data(), st.sampled_from(["ok", "died", "running"]))
def test_a_timeline_that_has_grown_is_one_built_anew(
    steps: list[StepHead], data: st.DataObject, status: str
) -> None:
    points = [Breakpoint(condition) for condition in CONDITIONS]
    shown: list[StepHead] = []
    timeline = build(run("running"), [], breakpoints=points)
    ends = sorted(data.draw(st.lists(st.integers(0, len(steps)), max_size=6)))
    for begin, end in pairwise([0, *ends, len(steps)]):
        look(timeline)
        new = [data.draw(st.sampled_from([step, unfinished(step)])) for step in steps[begin:end]]
        open_ = [index for index, step in enumerate(shown) if step != steps[index]]
        now = sorted(data.draw(st.sets(st.sampled_from(open_)))) if open_ else []
        timeline = timeline.extended(new, [steps[index] for index in now])
        shown = [steps[index] if index in now else step for index, step in enumerate(shown)] + new
        if data.draw(st.booleans()) and (folds := every_fold(timeline)):
            timeline = timeline.refolded(frozenset(data.draw(st.sets(st.sampled_from(folds)))))
    timeline = timeline.extended(run=run(status))
    anew = build(run(status), shown, breakpoints=points).refolded(timeline.folded)
    assert list(timeline.steps) == shown
    assert look(timeline) == look(anew)


@settings(deadline=None)
@given(swarms(), st.data(), st.booleans())
def test_rows_marks_and_laps_are_what_looking_at_each_step_finds(
    steps: list[StepHead], data: st.DataObject, running: bool
) -> None:
    timeline = build(run("running" if running else "died"), steps)
    folds = every_fold(timeline)
    folded = frozenset(data.draw(st.sets(st.sampled_from(folds)))) if folds else frozenset()
    loops, outline = timeline.loops, timeline.outline
    assert list(timeline.refolded(folded).visible) == naive.rows(steps, loops, folded)
    places = [outline.place(index) for index in range(len(steps))]
    assert [place and (place.loop, place.lap, place.opens) for place in places] == naive.laps(steps, loops)
    assert outline.marks == naive.marks(steps, loops, running)
    for agent in outline.by_agent:
        assert outline.agent_marks(agent) == naive.lane(steps, loops, agent, running)


@given(cycles, st.data())
def test_loops_found_again_at_the_tail_are_those_found_in_all_calls(text: str, data: st.DataObject) -> None:
    """Also where calls that were there before have become others."""
    steps = calls(text)
    laps = laps_in([])
    for end in sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8))):
        begin = data.draw(st.integers(0, end))
        laps = laps_in(calls(text[:begin] + "d" * (end - begin)), laps, min(begin, len(laps.steps)))
        again = data.draw(st.integers(0, begin))
        laps = laps_in(steps[:end], laps, again)
        assert laps.loops == laps_in(steps[:end]).loops


def laps_in(steps: Sequence[StepHead], former: Laps | None = None, start: int = 0) -> Laps:
    heads = Heads.of(steps)
    return Laps.of(heads, by_agent(heads), former, start)
