"""States recorded whole now and then: whichever the fold begins at, it comes to what folding everything comes to."""

import random
from typing import Any

import pytest

from stepwell import Recorder
from stepwell.core.state import Folded, StateStep, fold
from stepwell.core.world import SHARED, Moment
from stepwell.recorder import scopes
from stepwell.replay import Replayer
from stepwell.store.connect import resolve

KEYS = ("plan", "tries", "\ud800 odd", "notes", "b", "a")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "FEWEST", 3)


def some_state(chance: random.Random, old: object) -> object:
    """Mostly the old one with a key or two changed, taken away, or in another place."""
    if chance.random() < 0.05:
        return chance.choice([None, [1, 2], "a text", {}])
    state = dict(old) if isinstance(old, dict) else {}
    for _ in range(chance.randint(0, 2)):
        key = chance.choice(KEYS)
        state.pop(key, None) if chance.random() < 0.4 else None
        state[key] = chance.choice(
            [None, True, 1, 1.0, "x" * 9, [1] * chance.randint(0, 3), {"deep": [chance.random()]}]
        )
    return state


def everything(rows: list[dict[str, Any]], number: int) -> Folded:
    """All steps up to `number`, folded one by one."""
    states = [row for row in rows if row["step_type"] == "state_update" and row["step_number"] <= number]
    return fold(
        [
            StateStep(
                row["step_number"], SHARED if row["name"] == "shared" else row["agent"], row["given"], None
            )
            for row in states
        ],
        number,
    )


def whole(rows: list[dict[str, Any]]) -> list[int]:
    """Numbers of the steps that a fold can begin at."""
    return [row["step_number"] for row in rows if "at" in (row["given"]["$patch"] or [{}])[0]]


@pytest.mark.parametrize("seed", range(3))
def test_folding_from_whole_states_is_folding_everything(schema_dsn: str, steps: Any, seed: int) -> None:
    chance = random.Random(seed)
    given: dict[str, object] = {}
    with Recorder(schema_dsn) as recorder, recorder.run() as run:
        for _ in range(60):
            agent = chance.choice("ab")
            scope = chance.choice(("own", "own", "shared"))
            key = scope if scope == "shared" else agent
            given[key] = some_state(chance, given.get(key))
            run.agent(agent).state(given[key], shared=scope == "shared")
    rows = steps(run.run_id)
    assert len(whole(rows)) > 5
    replayer = Replayer(resolve(schema_dsn), run.run_id)
    for number in range(1, 61):
        for moment in Moment:
            world = replayer.at(number, moment)
            naive = everything(rows, number if moment is Moment.AFTER else number - 1)
            assert (world.states, world.set_at) == (naive.states, naive.set_at), (number, moment)
            if moment is Moment.AFTER:
                assert world.changed == naive.changed
    assert world.replay.state_steps < 40
    replayer.close()


def test_a_state_is_given_whole_when_the_differences_have_grown_as_large(schema_dsn: str, steps: Any) -> None:
    with Recorder(schema_dsn) as recorder, recorder.run() as run:
        for number in range(1, 10):
            run.state({"tries": number, "fixed": "y" * 60})
    rows = steps(run.run_id)
    assert whole(rows) == [5, 9]
    assert rows[4]["given"]["$patch"] == [
        {"at": {"fixed": 1}, "to": {"tries": 5, "fixed": "y" * 60}, "set": []}
    ]
    assert rows[4]["got"] == ["$.tries"]
    assert [row["input_exact"] for row in rows if row["step_number"] not in (1, 5, 9)] == [None] * 6


def test_a_large_state_with_small_changes_is_seldom_given_whole(
    schema_dsn: str, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "MOST", 10)
    with Recorder(schema_dsn) as recorder, recorder.run() as run:
        for number in range(1, 25):
            run.state({"tries": number, "fixed": list(range(500))})
    assert whole(steps(run.run_id)) == [12, 23]


def test_no_fold_begins_where_another_process_may_have_changed_the_state(schema_dsn: str, steps: Any) -> None:
    with Recorder(schema_dsn) as here, Recorder(schema_dsn) as there:
        run = here.start()
        other = there.resume(run.run_id)
        for number in range(20):
            run.state({"by": "a", "n": number})
            other.state({"by": "b", "n": number})
        run.finish()
    assert whole(steps(run.run_id)) == []
