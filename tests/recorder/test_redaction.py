"""`Recorder(redact=…)`: whatever an agent hands around, what is to be left out is in no row of any table."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stepwell
from stepwell import Recorder, RecordingError, UsageError
from stepwell.core.codec import Redacted

SECRET = "hunter2"
Look = Any


class Reply(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    text: str = ""
    password: str = SECRET


@dataclass
class Login:
    user: str
    password: str


def everything(dsn: str) -> str:
    """All rows of all tables of ours, as text."""
    with psycopg.connect(dsn) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace = current_schema()::regnamespace"
        ).fetchall()
        return "\n".join(
            row[0] for (name,) in names for row in connection.execute(f'SELECT t::text FROM "{name}" AS t')
        )


def scrub(_: str, text: str) -> str:
    return re.sub("hunter2", "[word]", text)


def shapes(leaves: st.SearchStrategy[Any], names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Values of every depth and kind around these leaves."""
    return st.recursive(
        leaves | st.integers() | st.none() | st.text(max_size=4),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(names, inner, max_size=3),
            st.builds(Login, inner, st.just(SECRET)),
            st.builds(lambda more: Reply.model_validate({"text": "", "more": more}), inner),
        ),
        max_leaves=6,
    )


names = st.sampled_from(["a", "b", "messages", "content"])
by_name = shapes(st.just({"Pass-Word": SECRET}), names)
by_text = shapes(
    st.text(max_size=3).map(lambda text: text + SECRET) | st.just(SECRET.encode()),
    names | names.map(lambda name: name + SECRET),
)


def echo(value: Any) -> Any:
    return value


def fail(value: Any, *, password: str) -> None:
    error = RuntimeError("refused")
    error.details = value  # type: ignore[attr-defined]  # an attribute of its own
    error.password = password  # type: ignore[attr-defined]  # an attribute of its own
    raise error


def exercise(run: stepwell.Run, value: Any) -> None:
    """A step of every kind, each with the value in and out of it."""
    assert run.tool(echo, value) is value
    assert run.llm(echo, value) is value
    assert list(run.llm(iter, [value, value])) == [value, value]
    with run.step("tool_call", "block", value) as step:
        step.output = value
    run.state({"kept": value, "password": SECRET})
    run.state({"kept": [value], "password": SECRET + "3"}, shared=True)
    with pytest.raises(RuntimeError) as caught:
        run.tool(fail, value, password=SECRET)
    assert caught.value.details is value  # type: ignore[attr-defined]  # an attribute of its own


def test_what_nobody_says_is_to_be_left_out_is_recorded(schema_dsn: str) -> None:
    with Recorder(schema_dsn) as recorder, recorder.run(tags={"password": SECRET}) as run:
        exercise(run, {"password": SECRET})
    assert everything(schema_dsn).count(SECRET) > 10


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=by_name)
def test_no_value_under_a_hidden_name_is_in_any_column(schema_dsn: str, value: Any) -> None:
    with Recorder(schema_dsn, redact=["*password*"]) as recorder:
        with recorder.run("r", tags={"db": {"password": SECRET}}) as run:
            exercise(run, value)
        with pytest.raises(RuntimeError), recorder.run("r"):
            fail(value, password=SECRET)
    assert SECRET not in everything(schema_dsn)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=by_text)
def test_no_text_that_a_function_rewrites_is_in_any_column(schema_dsn: str, value: Any) -> None:
    with Recorder(schema_dsn, redact=scrub) as recorder:
        with recorder.run(f"for {SECRET}", tags={SECRET: SECRET}) as run:
            exercise(run, value)
            run.named(f"n {SECRET}", agent=SECRET).tool(echo, 1)
            run.keep(f"because of {SECRET}")
        with pytest.raises(ValueError, match=SECRET), recorder.run("r"):
            raise ValueError(f"no {SECRET}")
    assert SECRET not in everything(schema_dsn)


def test_the_agent_keeps_the_real_values_and_the_record_marks_what_it_lacks(
    schema_dsn: str, steps: Look
) -> None:
    with Recorder(schema_dsn, redact=["password", scrub]) as recorder, recorder.run() as run:
        assert run.tool(echo, {"password": 1, "note": f"see {SECRET}"}) == {
            "password": 1,
            "note": f"see {SECRET}",
        }
    (row,) = steps(run.run_id)
    assert row["given"]["value"] == {"password": Redacted(), "note": Redacted("see [word]")}
    assert row["got"] == row["given"]["value"]
    assert '"[redacted]"' in row["input"]


def test_nothing_is_guessed_from_the_hash_of_a_call(schema_dsn: str, steps: Look) -> None:
    with Recorder(schema_dsn, redact="pin") as recorder, recorder.run() as run:
        for pin in (1234, 4321):
            run.tool(len, {"pin": pin})
    first, second = steps(run.run_id)
    assert first["call_hash"] == second["call_hash"]


def test_a_state_of_which_only_the_hidden_changes_has_not_changed(schema_dsn: str, steps: Look) -> None:
    with Recorder(schema_dsn, redact="password") as recorder, recorder.run() as run:
        run.state({"password": "a", "n": 1})
        run.state({"password": "b", "n": 1})
    assert steps(run.run_id)[1]["got"] == []


def test_what_is_read_of_a_reply_is_read_of_what_is_recorded(schema_dsn: str, steps: Look) -> None:
    reply = {
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "choices": [{"finish_reason": "stop", "password": 1}],
    }
    with Recorder(schema_dsn, redact="password") as recorder, recorder.run() as run:
        run.llm(echo, reply)
        list(run.llm(iter, [reply]))
    with Recorder(schema_dsn, redact=["prompt_tokens", "choices"]) as recorder, recorder.run() as other:
        other.llm(echo, reply)
    read = [(row["tokens_in"], row["tokens_out"], row["finish_reason"]) for row in steps(run.run_id)]
    assert read == [(3, 4, "stop")] * 2
    assert [(row["tokens_in"], row["tokens_out"], row["finish_reason"]) for row in steps(other.run_id)] == [
        (None, 4, None)
    ]


def test_a_model_that_is_hidden_names_no_step(schema_dsn: str, steps: Look) -> None:
    def complete(model: str, seed: int) -> str:
        return f"{model} {seed}"

    with Recorder(schema_dsn, redact=["model", "seed"]) as recorder, recorder.run() as run:
        run.llm(complete, model="gpt-5-secret", seed=7)
    (row,) = steps(run.run_id)
    assert (row["name"], row["seed"]) == ("[redacted]", None)


def test_a_secret_that_streams_in_pieces_is_not_put_together(schema_dsn: str, steps: Look) -> None:
    def answer() -> Iterator[str]:
        yield from ("it is hun", "ter", "2, you know")

    async def answer_later() -> AsyncIterator[str]:
        for piece in answer():
            yield piece

    async def ask(run: stepwell.Run) -> list[str]:
        return [piece async for piece in run.llm(answer_later)]

    with Recorder(schema_dsn, redact=scrub) as recorder, recorder.run() as run:
        assert list(run.llm(answer)) == list(answer())
        assert asyncio.run(ask(run)) == list(answer())
    for row in steps(run.run_id):
        assert (
            "".join(getattr(piece, "text", piece) for piece in row["got"].chunks) == "it is [word], you know"
        )


def refuse(_: str, text: str) -> str:
    raise RuntimeError(text)


def picky(_: str, text: str) -> str:
    """Fails for an answer, not for a question."""
    if text == "answer":
        raise RuntimeError(text)
    return text


def test_a_function_that_fails_before_a_call_has_it_not_made(schema_dsn: str) -> None:
    made: list[str] = []
    with Recorder(schema_dsn, redact=refuse) as recorder, recorder.run() as run:
        with pytest.raises(RecordingError, match="redact raised RuntimeError"):
            run.tool(made.append, SECRET)
        with pytest.raises(RecordingError, match="redact raised RuntimeError"):
            run.state({"a": SECRET})
        with pytest.raises(RecordingError, match="redact raised RuntimeError"):
            recorder.run("r")
    assert made == []
    assert SECRET not in everything(schema_dsn)


def test_an_outcome_for_which_a_function_fails_is_neither_recorded_nor_handed_out(
    schema_dsn: str, steps: Look
) -> None:
    def raises() -> None:
        raise ValueError("answer")

    with Recorder(schema_dsn, redact=picky) as recorder, recorder.run() as run:
        with pytest.raises(RecordingError, match="redact raised RuntimeError"):
            run.tool(echo, "question").join(run.tool(str.strip, " answer "))
        with pytest.raises(ValueError, match="answer"):
            run.tool(raises)
    first, second, third = steps(run.run_id)
    assert first["got"] == "question"
    assert second["output"] is None
    assert second["error"]["message"] == "redact raised RuntimeError, so nothing may be recorded"
    assert (third["error"]["type"], third["error"]["message"]) == ("ValueError", "[redacted]")
    assert third["error"]["value"] is None


def test_decorated_tools_are_redacted_too(schema_dsn: str) -> None:
    @stepwell.tool
    def login(user: str, password: str) -> dict[str, str]:
        return {"user": user, "password": password}

    with Recorder(schema_dsn, redact="pass*") as recorder, recorder.run():
        assert login("ada", SECRET) == {"user": "ada", "password": SECRET}
    assert "login" in everything(schema_dsn)
    assert SECRET not in everything(schema_dsn)


def test_long_prompts_are_redacted_where_only_what_is_new_is_stored(schema_dsn: str, steps: Look) -> None:
    messages = [{"role": "user", "content": "x" * 20_000 + SECRET, "password": SECRET}]
    with Recorder(schema_dsn, redact=["password", scrub]) as recorder, recorder.run() as run:
        for _ in range(3):
            run.llm(echo, {"messages": messages})
            messages.append({"role": "user", "content": f"and {SECRET}"})
    assert SECRET not in everything(schema_dsn)
    assert len(steps(run.run_id)) == 3


@pytest.mark.parametrize("wrong", [7, [7], [""], b"password", {"password": 1.5}.values(), [None]])
def test_what_is_neither_pattern_nor_function_is_refused(schema_dsn: str, wrong: Any) -> None:
    with pytest.raises(UsageError, match="redact takes"):
        Recorder(schema_dsn, redact=wrong)


@pytest.mark.parametrize("wrong", [str.upper, lambda: None, lambda *, text: text])
def test_a_function_that_takes_no_name_and_text_is_refused(schema_dsn: str, wrong: Any) -> None:
    with pytest.raises(UsageError, match="redact function takes a name and a text"):
        Recorder(schema_dsn, redact=["password", wrong])


def test_a_function_that_does_not_say_what_it_takes_is_accepted(schema_dsn: str) -> None:
    Recorder(schema_dsn, redact=[max, os.path.join, str.removeprefix]).close()


def test_what_waits_in_a_file_for_its_database_is_redacted_too(tmp_path: Path) -> None:
    with (
        Recorder(f"host={tmp_path}", redact=["*password*", scrub], on_failure="spool") as recorder,
        recorder.run(f"for {SECRET}", tags={"password": SECRET}) as run,
    ):
        exercise(run, {"password": SECRET, "note": f"is {SECRET}"})
    (spooled,) = tmp_path.rglob("*.jsonl")
    assert "[word]" in spooled.read_text()
    assert SECRET not in spooled.read_text()
