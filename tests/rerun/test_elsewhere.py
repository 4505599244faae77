"""A process that replays is another than the one that was recorded, and has all the same what an agent needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from stepwell import Recorder
from stepwell.core.rerun import Report
from stepwell.rerun.child.process import AgentProcess
from stepwell.store.connect import resolve
from tests.rerun.agents import search


@pytest.fixture
def again(runs_dsn: str, recorder: Recorder, tmp_path: Path) -> Callable[..., Report]:
    """Record a call of `search`, and replay it through the `main` of a module of this text."""

    def do(query: str, text: str, began: str | None = None) -> Report:
        with recorder.run("elsewhere") as run:
            run.tool(search, query)
        if began is not None:
            with psycopg.connect(runs_dsn) as connection:
                connection.execute(
                    "UPDATE agent_runs SET started_at = %s, zone = 'Asia/Tokyo' WHERE run_id = %s",
                    (began, run.run_id),
                )
        (tmp_path / "agent.py").write_text(f"def search(query): ...\n{text}")
        with AgentProcess(resolve(runs_dsn), run.run_id, "agent:main", cwd=tmp_path) as process:
            return process.replay()

    return do


def test_what_a_module_makes_of_the_date_when_it_is_imported_is_of_the_day_of_the_run(
    again: Callable[..., Report],
) -> None:
    report = again(
        "it is Saturday, 2020-02-29 00:00",
        "from datetime import datetime\nNOW = f'it is {datetime.now():%A, %Y-%m-%d %H:%M}'\n"
        "def main(run): run.tool(search, NOW)\n",
        "2020-02-28 15:00:30+00",
    )
    assert report.same


def test_the_agent_is_found_in_the_current_folder_and_may_print_all_letters_whatever_is_set_here(
    again: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    report = again("a", "def main(run): run.tool(search, 'a'); print('caf\\u00e9')\n")
    assert report.same
    assert report.output == "café\n"
