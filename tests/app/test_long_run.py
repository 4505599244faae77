"""A run of a great many steps: every key lands where it should, and no step is kept as an object."""

import gc

import psycopg
import pytest

from stepwell.app.geometry import Pane
from stepwell.core.steps import StepHead
from tests.app.recorded import LIVE, alive, go_on
from tests.app.stepping import Debugging, debug

MAKE = """
INSERT INTO agent_steps (run_id, step_number, step_type, agent, name, parent_step, input, output, error, created_at,
                         started_at, finished_at, finished_order, finished_before, started_before, call_hash)
SELECT %(run)s, n, type, agents[1 + n %% cardinality(agents)], type, CASE WHEN n %% 100 = 7 THEN n - 1 END,
       jsonb_build_object('query', n), to_jsonb('answer ' || n || ' of it'),
       CASE WHEN n = %(steps)s / 2 THEN '{"type": "Boom", "message": "no"}'::jsonb END,
       at, at, at, n, n - 1, n, CASE WHEN type = 'tool_call' THEN CASE WHEN n %% 1000 < 50 THEN 7 ELSE n END END
FROM generate_series(1, %(steps)s) AS n
CROSS JOIN LATERAL (
    SELECT CASE WHEN n %% 10 = 0 THEN 'state_update' WHEN n %% 2 = 0 THEN 'tool_call' ELSE 'llm_call' END,
           timestamptz '2025-03-01 12:00+00' + n * interval '1 s'
) AS kind (type, at)
CROSS JOIN (SELECT %(agents)s::text[]) AS swarm (agents)
"""


def write(dsn: str, steps: int, agents: list[str | None]) -> None:
    """In every thousand steps a loop of twenty calls, with other calls in between; one step in the middle raised."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO agent_runs (run_id, name, status, steps, finished) VALUES (%s, 'long', 'running', %s, %s)",
            [LIVE, steps, steps],
        )
        connection.execute(MAKE, {"run": LIVE, "steps": steps, "agents": agents})
        connection.execute("VACUUM ANALYZE agent_steps")


def heads_kept() -> int:
    gc.collect()
    return sum(isinstance(each, StepHead) for each in gc.get_objects())


@pytest.mark.parametrize(
    ("steps", "agents"),
    [
        (5_000, [None]),
        pytest.param(100_000, [None], marks=pytest.mark.long),
        pytest.param(100_000, ["a", "b", "c", "d", "e"], marks=pytest.mark.long),
    ],
)
def test_every_key_lands_where_it_should(steps: int, agents: list[str | None], schema_dsn: str) -> None:
    write(schema_dsn, steps, agents)

    async def act(debugger: Debugging) -> None:
        assert f"1/{steps}+ 0% after" in debugger.status
        for typed, number in (
            ("n", 2),
            ("G", steps),
            ("p", steps - 1),
            ("50%", steps // 2),
            ("!", steps // 2),
            ("3012g", 3_012),
            (":@+600s<enter>", 601),
            ("/answer 4321 of<enter>", 4_321),
            ("ggbeGC", steps // 2),
            ("''", steps),
        ):
            await debugger.press(typed)
            assert debugger.number == number, typed
        assert heads_kept() < 100
        await debugger.press("2g")
        while debugger.view.pane is not Pane.TIMELINE:
            await debugger.press("<tab>")
        rows = len(debugger.rows(Pane.TIMELINE))
        await debugger.press(" ")
        assert debugger.number == 2 + rows

    with alive(schema_dsn):
        debug(schema_dsn, LIVE, act)


def test_what_is_folded_hides_and_what_is_unfolded_shows(schema_dsn: str) -> None:
    write(schema_dsn, 5_000, [None])

    async def act(debugger: Debugging) -> None:
        await debugger.press("Z")
        timeline = debugger.view.timeline
        hidden = len(timeline.steps) - len(timeline.visible)
        parents = {step.parent for step in timeline.steps if step.parent is not None}
        in_laps = sum((timeline.lap(index) or 0) > 1 for index in range(5_000)) - len(timeline.loops)
        below = sum(
            step.parent is not None and timeline.lap(step.number - 1) in (None, 1) for step in timeline.steps
        )
        assert parents
        assert timeline.loops
        assert hidden == in_laps + below
        await debugger.press("Z")
        assert len(debugger.view.timeline.visible) == 5_000

    with alive(schema_dsn):
        debug(schema_dsn, LIVE, act)


def test_a_long_run_that_goes_on_is_followed(schema_dsn: str) -> None:
    write(schema_dsn, 5_000, [None])
    with alive(schema_dsn) as recorder:

        async def act(debugger: Debugging) -> None:
            await debugger.press("ZF")
            for number in range(5_001, 5_004):
                go_on(recorder, number)
                await debugger.until(lambda: debugger.number == number and debugger.screen.settled)  # noqa: B023
            assert "5003/5003+ 100% after" in debugger.status
            assert heads_kept() < 100

        debug(schema_dsn, LIVE, act)
