"""What a run's steps come to, worked out the slow way: row by row, from dicts and lists."""

from bisect import bisect_left
from collections.abc import Sequence

from stepwell.core.folding import Fold, Row, RowKind
from stepwell.core.outline import utc
from stepwell.core.steps import STATE_UPDATE, TOOL_CALL, Loop, StepHead


def parents(steps: Sequence[StepHead]) -> list[int]:
    numbers = [step.number for step in steps]
    found = [numbers.index(step.parent) if step.parent in numbers else -1 for step in steps]
    return [parent if parent < index else -1 for index, parent in enumerate(found)]


def laps(steps: Sequence[StepHead], loops: Sequence[Loop]) -> list[tuple[Loop, int, bool] | None]:
    """Loop and lap of each step, and whether it opens the lap; numbers do not repeat."""
    found: list[tuple[Loop, int, bool] | None] = [None] * len(steps)
    for loop in loops:
        agent = next(step.agent for step in steps if step.number == loop.first)
        calls = 0
        for index, step in enumerate(steps):
            if step.agent == agent and loop.first <= step.number <= loop.last:
                call = step.type == TOOL_CALL and step.call_hash is not None
                calls += call
                found[index] = (loop, (calls - 1) // loop.period + 1, call and (calls - 1) % loop.period == 0)
    return found


def rows(steps: Sequence[StepHead], loops: Sequence[Loop], folded: frozenset[Fold]) -> list[Row]:
    """The visible rows: each step is put into the row that hides it, or becomes one."""
    above, lap = parents(steps), laps(steps, loops)
    stands: list[int] = []
    kinds: dict[int, RowKind] = {}
    counts: dict[int, int] = {}
    lap_rows: dict[int, int] = {}
    for index, parent in enumerate(above):
        place, row = lap[index], index
        under = stands[parent] if parent >= 0 else -1
        hides = parent >= 0 and (
            under != parent
            or kinds.get(parent) is RowKind.LAPS
            or Fold(RowKind.PARENT, steps[parent].number) in folded
        )
        if hides:
            row = under
            if kinds.setdefault(row, RowKind.PARENT) is RowKind.PARENT:
                counts[row] = counts.get(row, 0) + 1
        elif place is not None and place[1] > 1 and Fold(RowKind.LAPS, place[0].first) in folded:
            row = lap_rows.setdefault(place[0].first, index)
            if row == index:
                kinds[index], counts[index] = RowKind.LAPS, place[0].laps - 1
        stands.append(row)
    return [
        Row(index, depth(above, index), counts.get(index, 0), kinds.get(index, RowKind.STEP))
        for index in range(len(steps))
        if stands[index] == index
    ]


def depth(above: Sequence[int], index: int) -> int:
    return 0 if above[index] < 0 else depth(above, above[index]) + 1


def marks(steps: Sequence[StepHead], loops: Sequence[Loop], running: bool) -> str:
    letters = {TOOL_CALL: "T", STATE_UPDATE: "S", "llm_call": "L"}
    found = []
    for step, place in zip(steps, laps(steps, loops), strict=True):
        letter = letters[step.type]
        if step.error is not None:
            letter = "!"
        elif step.in_doubt:
            letter = "~" if running else "?"
        found.append(letter.lower() if place is not None and place[1] > 1 else letter)
    return "".join(found)


def lane(steps: Sequence[StepHead], loops: Sequence[Loop], agent: str | None, running: bool) -> str:
    """The marks of an agent's steps, `=` as far as each spans, `.` elsewhere."""
    line = ["."] * len(steps)
    began = [utc(step.time) for step in steps if step.time is not None]
    order = sorted(range(len(steps)), key=lambda index: began[index]) if len(began) == len(steps) else []
    for index, step in enumerate(steps):
        end = index
        if running and step.in_doubt:
            end = len(steps)
        elif order and step.finished is not None:
            before = bisect_left(sorted(began), utc(step.finished))
            end = order[before - 1] + 1 if before else index
        if step.agent == agent:
            line[index + 1 : end] = "=" * (end - index - 1)
    plain = marks(steps, loops, running)
    as_done = marks([step if step.error else done(step) for step in steps], loops, running)
    for index, step in enumerate(steps):
        if step.agent == agent:
            line[index] = as_done[index] if running and step.in_doubt else plain[index]
    return "".join(line)


def done(step: StepHead) -> StepHead:
    return StepHead(step.number, step.type, True, agent=step.agent, call_hash=step.call_hash)
