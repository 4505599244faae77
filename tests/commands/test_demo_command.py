"""`stepwell demo`: where it records, and how often."""

import os

import psycopg
import pytest

from stepwell.cli import main
from stepwell.demo import record
from stepwell.store.connect import Target, resolve
from tests.commands.cases import shell, stepwell

Capture = pytest.CaptureFixture[str]


def count_runs(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT count(*) FROM agent_runs").fetchone()
    assert row is not None
    return int(row[0])


def test_it_records_once_unless_asked_again(dsn: str, capsys: Capture) -> None:
    assert stepwell(dsn, "demo", "--no-open") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]] == [
        "failed",
        "failed",
        "ok",
        "died",
        "ok",
    ]
    assert stepwell(dsn, "demo", "--no-open") == 0
    assert "nothing to do" in capsys.readouterr().out
    assert count_runs(dsn) == 5
    assert stepwell(dsn, "demo", "--no-open", "--again") == 0
    assert count_runs(dsn) == 10


def test_a_demo_that_was_interrupted_is_recorded_anew(
    schema_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("stepwell.demo.swarm.work", None)
        with pytest.raises(TypeError):
            record.record_demo(resolve(schema_dsn), progress=lambda _: None)
    assert record.record_demo(resolve(schema_dsn), progress=lambda _: None)
    assert not record.record_demo(resolve(schema_dsn), progress=lambda _: None)


def test_it_opens_the_list_of_runs(schema_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str | None] = []

    def open_app(_: Target, address: str | None) -> int:
        opened.append(address)
        return 0

    monkeypatch.setattr("stepwell.app.open_app", open_app, raising=False)
    monkeypatch.setattr("stepwell.commands.demo.record_demo", lambda *_, **__: True)
    assert stepwell(schema_dsn, "demo") == 0
    assert opened == [None]


def test_it_writes_into_the_embedded_postgres_and_never_into_the_database_url(dsn: str) -> None:
    ran = shell("demo", "--no-open", env={**os.environ, "DATABASE_URL": dsn, "PGAPPNAME": "kept"})
    assert ran.returncode == 0, ran.stderr
    assert b"env -u DATABASE_URL stepwell" in ran.stderr
    assert ran.stdout.startswith(b"embedded Postgres: recorded\n")
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT to_regclass('agent_steps')").fetchone() == (None,)


def test_without_an_embedded_postgres_it_asks_for_a_database(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepwell.store.embedded.installed", lambda: False)
    assert main(["demo"]) == 2
    assert "or name a database for it with --dsn" in capsys.readouterr().err
