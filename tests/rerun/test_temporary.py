"""Temporary files have the names in a replay that they had when it was recorded."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepwell import Run
from stepwell.core.divergence import Kind
from stepwell.core.recorded import RecordedRun
from stepwell.rerun.playing import play
from tests.rerun.agents import fetch, search

Record = Callable[[Any], RecordedRun]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


def cleans_up(run: Run) -> str:
    with tempfile.TemporaryDirectory(prefix="work-") as folder, tempfile.TemporaryFile() as nameless:
        nameless.write(b"none")
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".txt") as file:
            run.tool(search, f"{folder} {file.name}")
    return run.result(tempfile.mktemp())


def leaves_behind(run: Run) -> None:
    folder = tempfile.mkdtemp(dir=os.fsencode(tempfile.gettempdir()))
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    Path(os.fsdecode(folder), "notes").write_text("mine")
    run.tool(search, f"{folder!r} {name!r}")


async def tasks(run: Run) -> None:
    async def one(number: int) -> None:
        await asyncio.sleep(0.001 * (3 - number))
        with tempfile.TemporaryDirectory() as folder:
            await run.tool(fetch, f"{number} {folder}")

    await asyncio.gather(*map(one, range(3)))


@pytest.mark.parametrize("agent", [cleans_up, leaves_behind, tasks])
def test_a_replay_gives_the_names_of_then_each_time_and_leaves_no_files(
    record: Record, agent: Any, folder: Path
) -> None:
    before = vars(tempfile).copy()
    recorded = record(agent)
    before["_name_sequence"] = vars(tempfile)["_name_sequence"]
    for left in folder.iterdir():
        shutil.rmtree(left)
    for _ in range(2):
        report = play(recorded, agent)
        assert (report.divergence, report.refused, report.notes) == (None, None, ())
        assert list(folder.iterdir()) == []
    assert vars(tempfile) == before


def test_what_has_the_name_already_is_left_alone_and_named(record: Record, folder: Path) -> None:
    recorded = record(leaves_behind)
    (there,) = folder.iterdir()
    report = play(recorded, leaves_behind)
    assert report.divergence is not None
    assert (report.divergence.kind, report.divergence.step) == (Kind.INPUT, 1)
    assert f"{there} is there already, so the agent gets another name than then; remove it" in report.notes
    assert (there / "notes").read_text() == "mine"
    assert list(folder.iterdir()) == [there]
