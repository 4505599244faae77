"""What it costs to replay a run through the agent's code, here and in a process apart."""

from collections.abc import Callable
from contextlib import closing
from typing import Any
from uuid import UUID

from stepwell import Recorder
from stepwell.core.identity import Identities
from stepwell.replay.recorded import load
from stepwell.rerun.child.process import AgentProcess
from stepwell.rerun.playing import Terms, play
from stepwell.store.connect import resolve
from tests.benchmarks import trivial
from tests.benchmarks.harness import Table, in_turns, ms, ratio


class Answers:
    """A run that answers from a dictionary."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, int], dict[str, Any]] = {}

    def call(self, fn: Callable[[str, int], dict[str, Any]], question: str, turn: int) -> dict[str, Any]:
        if (question, turn) not in self._given:
            self._given[question, turn] = fn(question, turn)
        return self._given[question, turn]

    llm = tool = call


def rerunning(dsn: str, *, quick: bool) -> Table:
    """(l) A trivial agent on its recording: against a dictionary of its answers, and in a process apart."""
    rounds = 2 if quick else 15
    table = Table(
        "A trivial agent, replayed",
        [
            "steps",
            "from a dictionary, ms",
            "here, ms",
            "against it",
            "µs a step",
            "process apart: start, ms",
            "replay, ms",
            "one step back, ms",
        ],
    )
    for name in ("ten", "thousand") if quick else ("ten", "thousand", "ten_thousand"):
        table.rows.append(_row(dsn, name, rounds))
    return table


def _row(dsn: str, name: str, rounds: int) -> list[str]:
    agent: trivial.Trivial = getattr(trivial, name)
    with closing(Recorder(dsn, durability="async")) as recorder, recorder.run(name) as run:
        agent(run)
    recorded = load(resolve(dsn), str(run.run_id))
    identities, answers = Identities(recorded), Answers()

    def here() -> None:
        assert play(recorded, agent, terms=Terms(identities=identities)).same

    with _process(dsn, run.run_id, name) as process:

        def apart(to: int | None = None) -> None:
            assert process.replay(to).same

        times = in_turns(
            {
                "dictionary": lambda: agent(answers),
                "here": here,
                "apart": apart,
                "back": lambda: apart(agent.steps - 1),
                "start": lambda: _start(dsn, run.run_id, name),
            },
            max(1, rounds // 5) if agent.steps > 1_000 else rounds,
        )
    return [
        f"{agent.steps:,}",
        ms(times["dictionary"]),
        ms(times["here"]),
        ratio(times["here"], times["dictionary"]),
        f"{times['here'] * 1000 / agent.steps:.0f}",
        ms(times["start"]),
        ms(times["apart"]),
        ms(times["back"]),
    ]


def _start(dsn: str, run_id: UUID, name: str) -> None:
    """Until the first step has been answered."""
    with _process(dsn, run_id, name) as process:
        assert process.replay(1).same


def _process(dsn: str, run_id: UUID, name: str) -> AgentProcess:
    return AgentProcess(resolve(dsn), run_id, f"tests.benchmarks.trivial:{name}", timeout=300)
