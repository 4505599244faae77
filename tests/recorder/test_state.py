"""State: the whole goes in, the difference is stored, and folding gives the whole back."""

from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from stepwell import EncodingError, Recorder
from stepwell.core.state import StateStep, fold
from stepwell.core.world import SHARED
from tests.recorder.test_failures import in_threads


def folded(rows: list[dict[str, Any]]) -> dict[str | None, object]:
    """What a reader makes of the rows."""
    return fold(
        [
            StateStep(r["step_number"], SHARED if r["name"] == "shared" else r["agent"], r["given"], r["got"])
            for r in rows
            if r["step_type"] == "state_update"
        ],
        0,
    ).states


def test_a_state_is_stored_as_its_difference_to_the_last(recorder: Recorder, steps: Any) -> None:
    plan = {"plan": ["a", "b"], "n": None, "cost": Decimal("1.50")}
    with recorder.run() as run:
        run.state(plan)
        plan["plan"] = ["a", "c"]  # changed in place: the recorder has its own copy
        run.state(plan)
        run.state(plan)
    rows = steps(run.run_id)
    assert [row["got"] for row in rows] == [["$"], ["$.plan[1]"], []]
    assert rows[1]["given"] == {"$patch": [{"set": ["plan", 1], "to": "c"}]}
    assert folded(rows) == {None: plan}
    assert [r["finished_order"] for r in rows] == [1, 2, 3] == [r["started_before"] for r in rows]
    assert [r["finished_before"] for r in rows] == [0, 1, 2]


def test_every_agent_has_a_state_and_one_is_shared(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        run.state({"own": 1})
        run.agent("b").state({"own": 2})
        run.agent("b").state({"board": 1}, shared=True)
        run.agent("c").state({"board": 2}, shared=True)
        run.agent("b").state({"own": 3})
    rows = steps(run.run_id)
    assert folded(rows) == {None: {"own": 1}, "b": {"own": 3}, SHARED: {"board": 2}}
    assert rows[3]["given"] == {"$patch": [{"set": ["board"], "to": 2}]}


def test_a_state_that_cannot_be_kept_changes_nothing(recorder: Recorder, steps: Any) -> None:
    loop: list[object] = []
    loop.append(loop)
    with recorder.run() as run:
        run.state({"a": 1})
        with pytest.raises(EncodingError):
            run.state(loop)
        run.state({"a": 2})
    assert folded(steps(run.run_id)) == {None: {"a": 2}}


def test_a_state_after_one_of_another_process_is_stored_whole(schema_dsn: str, steps: Any) -> None:
    """Two recorders on one run know nothing of each other's states, and every step still folds to what was given."""
    with Recorder(schema_dsn) as here, Recorder(schema_dsn) as there:
        run = here.start()
        other = there.resume(run.run_id)
        run.state({"x": 1})
        other.state({"x": 2, "y": 1})
        run.state({"x": 1})
        assert folded(steps(run.run_id)) == {None: {"x": 1}}
        run.state({"x": 3})
        assert steps(run.run_id)[-1]["got"] == ["$.x"]
        run.finish()


def test_states_of_many_threads_and_recorders_fold_to_the_last_one_given(schema_dsn: str, steps: Any) -> None:
    with Recorder(schema_dsn) as here, Recorder(schema_dsn) as there:
        run = here.start()
        views = [run, there.resume(run.run_id)]

        def work(n: int) -> None:
            for k in range(25):
                views[n % 2].state({"by": n, "k": k, f"key{n}": [n] * (k % 3)})

        assert in_threads(*[partial(work, n) for n in range(6)]) == [None] * 6
        rows = steps(run.run_id)
        assert len(rows) == 150
        assert sorted(r["step_number"] for r in rows) == list(range(1, 151))
        # Each state is one that some thread gave: nobody's keys are mixed with another's.
        for upto in range(1, 151):
            (state,) = folded(rows[:upto]).values()
            assert isinstance(state, dict)
            assert state == {
                "by": state["by"],
                "k": state["k"],
                f"key{state['by']}": [state["by"]] * (state["k"] % 3),
            }


def test_a_resumed_run_begins_with_a_whole_state(recorder: Recorder, steps: Any) -> None:
    run = recorder.start()
    run.state({"a": 1})
    again = recorder.resume(run.run_id)
    again.state({"b": 1})
    assert folded(steps(UUID(str(run.run_id)))) == {None: {"b": 1}}
