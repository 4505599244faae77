"""Values of many megabytes: recorded in seconds, and refused in one line where Postgres cannot hold them."""

import asyncio
from typing import Any

import psycopg
import pytest

from stepwell import EncodingError, Recorder, RecordingError
from stepwell.core import codec


def test_a_value_of_ten_megabytes_is_recorded_as_any_other(recorder: Recorder, steps: Any) -> None:
    text = "broken lamp, order 8841\n" * 450_000
    with recorder.run() as run:
        assert run.tool(lambda text: [text[:5], text], text)[1] == text
    (row,) = steps(run.run_id)
    assert (row["given"], row["got"]) == ({"text": text}, ["broke", text])


@pytest.fixture
def little_room(schema_dsn: str) -> str:
    """A database that refuses a value of 1,000 characters as Postgres refuses one of 256 MB."""
    with psycopg.connect(schema_dsn) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF length(concat(NEW.input, NEW.output)) > 1000 THEN"
            " RAISE program_limit_exceeded USING MESSAGE = 'string too long to represent as jsonb string';"
            " END IF; RETURN NEW; END $$"
        )
        connection.execute(
            "CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON agent_steps FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    return schema_dsn


def test_a_result_too_large_for_postgres_makes_a_failed_step(little_room: str, steps: Any) -> None:
    said = "of run .* was not recorded: string too long .*; JSONB holds no more than 256 MB"
    with Recorder(little_room) as recorder, recorder.run() as run:
        with pytest.raises(RecordingError, match=said):
            run.tool(lambda: "x" * 2000)

        async def answer() -> str:
            return "y" * 2000

        with pytest.raises(RecordingError, match=said):
            asyncio.run(run.tool(answer))
        assert run.tool(lambda: "small") == "small"
    rows = steps(run.run_id)
    assert [row["output"] for row in rows] == [None, None, '"small"']
    for row in rows[:2]:
        assert row["error"]["type"] == "stepwell.errors.RecordingError"
        assert "string too long" in row["error"]["message"]
    assert [row["finished_order"] for row in rows] == [1, 2, 3]


def test_an_argument_too_large_for_postgres_is_told_before_the_call(little_room: str, steps: Any) -> None:
    called: list[str] = []
    with Recorder(little_room) as recorder, recorder.run() as run:
        with pytest.raises(RecordingError, match="was not recorded and so not made: string too long"):
            run.tool(called.append, "x" * 2000)
        run.tool(called.append, "small")
    assert called == ["small"]
    assert [row["step_number"] for row in steps(run.run_id)] == [1]


def test_a_text_that_postgres_takes_in_no_column_is_not_sent(
    recorder: Recorder, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "LONGEST", 1000)
    with (
        recorder.run() as run,
        pytest.raises(EncodingError, match="its JSON has 2,002 characters: Postgres takes"),
    ):
        run.tool(lambda: "x" * 2000)
    (row,) = steps(run.run_id)
    assert row["error"]["type"] == "stepwell.errors.EncodingError"
