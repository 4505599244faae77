"""The shop of the replay's tests, for commands too, and what tests of exporting share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.core.recorded import RecordedRun
from tests.commands.exporting import record
from tests.conftest import create_database, drop_database
from tests.replay.shop import shop
from tests.rerun.shop import triage

__all__ = ["shop"]


@pytest.fixture
def recorded(schema_dsn: str) -> RecordedRun:
    """A run of the shop's agent, in the database that commands find."""
    return record(schema_dsn, triage, redact=None)


@pytest.fixture
def other_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Another database."""
    conninfo = create_database(server, schema_template)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture
def here(tmp_path: Path, schema_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the current one, and the database as the one that commands find."""
    folder = tmp_path / "here"
    (folder / "tests").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DATABASE_URL", schema_dsn)
    return folder
