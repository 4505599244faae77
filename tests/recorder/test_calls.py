"""What a call leaves behind: its name, its arguments, its outcome, and where it belongs."""

import asyncio
import functools
from decimal import Decimal
from typing import Any
from unittest.mock import MagicMock

import pytest

import stepwell
from stepwell import EncodingError, Recorder, RecordingError, Run
from stepwell.core.streamed import Streamed
from stepwell.errors import UsageError


def search(query: str, limit: int = 3, **filters: object) -> list[str]:
    return [query] * (limit if filters is not None else 0)


def test_a_step_is_committed_before_its_call_and_its_outcome_before_the_agent_has_it(
    recorder: Recorder, steps: Any
) -> None:
    with recorder.run("orders") as run:

        def look() -> bool:
            (row,) = steps(run.run_id)
            assert row["output"] is None
            assert row["finished_at"] is None
            return True

        assert run.tool(look) is True
        (row,) = steps(run.run_id)
        assert row["got"] is True
        assert row["finished_at"] >= row["started_at"]


def test_the_input_is_the_bound_signature(recorder: Recorder, steps: Any) -> None:
    class Shop:
        def order(self, item: str, *rest: int, **options: object) -> None: ...

    def clash(a: int, /, **b: object) -> None: ...

    with recorder.run() as run:
        run.tool(search, "hat", limit=1, colour="red")
        run.tool(Shop().order, "hat", 1, 2, gift=True)
        run.tool(Shop.order, Shop(), "hat")
        run.tool(functools.partial(search, "hat"), limit=2)
        run.tool(max, 1, 2)
        run.tool(clash, 1, b=2)
        run.tool(clash, 1, a=2)
    assert [(row["name"], row["given"]) for row in steps(run.run_id)] == [
        ("search", {"query": "hat", "limit": 1, "colour": "red"}),
        ("order", {"item": "hat", "rest": [1, 2], "gift": True}),
        ("order", {"item": "hat"}),
        ("search", {"query": "hat", "limit": 2}),
        ("max", {"args": [1, 2], "kwargs": {}}),
        ("clash", {"a": 1, "b": 2}),
        ("clash", {"a": 1, "b": {"a": 2}}),
    ]


def test_a_call_with_the_wrong_arguments_is_recorded_with_its_type_error(
    recorder: Recorder, steps: Any
) -> None:
    wrong: Any = search
    with recorder.run() as run, pytest.raises(TypeError):
        run.tool(wrong, 1, 2, 3, 4)
    (row,) = steps(run.run_id)
    assert row["given"] == {"args": [1, 2, 3, 4], "kwargs": {}}
    assert row["error"]["type"] == "TypeError"


def test_a_model_call_is_named_after_its_model_and_a_call_without_one_after_its_function(
    recorder: Recorder, steps: Any
) -> None:
    def create(*, model: str) -> dict[str, object]:
        assert model
        return {
            "usage": {"prompt_tokens": 5, "completion_tokens": 2},
            "choices": [{"finish_reason": "length"}],
        }

    def ask(prompt: str) -> str:
        return prompt

    with recorder.run() as run:
        run.llm(create, model="gpt-x")
        run.llm(ask, "hello")
    first, second = steps(run.run_id)
    assert (first["step_type"], first["name"]) == ("llm_call", "gpt-x")
    assert (first["tokens_in"], first["tokens_out"], first["finish_reason"]) == (5, 2, "length")
    assert second["name"].endswith("ask")


def test_options_of_the_step_are_kept_apart_from_the_arguments_of_the_call(
    recorder: Recorder, steps: Any, run_row: Any
) -> None:
    def tool(name: str, agent: str, seed: int) -> None: ...

    with recorder.run(seed=1) as run:
        run.named("mine", agent="b", seed=3).tool(tool, name="its", agent="own", seed=2)
        run.tool(tool, name="its", agent="own", seed=2)
        run.agent("c").tool(search, "hat")
        run.tool(tool, name="its", agent="own", seed=2**80)
    rows = steps(run.run_id)
    assert [(r["name"], r["agent"], r["seed"]) for r in rows] == [
        ("mine", "b", 3),
        ("tool", None, 2),
        ("search", "c", 1),
        ("tool", None, None),
    ]
    assert rows[0]["given"] == {"name": "its", "agent": "own", "seed": 2}
    assert run_row(run.run_id)["agents"] == ["b", "c"]


def test_payloads_come_back_equal(recorder: Recorder, steps: Any) -> None:
    value = {"z": (1, {2}), "a": [Decimal("1.10"), b"\0", "\0\ud800", float("inf"), -0.0, None]}
    with recorder.run() as run:
        assert run.tool(lambda given: given, value) is value
    (row,) = steps(run.run_id)
    assert repr(row["got"]) == repr(value) == repr(row["given"]["given"])


def test_a_call_that_returns_none_has_an_output_and_is_not_in_doubt(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        run.tool(lambda: None)
    (row,) = steps(run.run_id)
    assert row["output"] == "null"


def test_arguments_are_recorded_as_they_were_before_the_call(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        run.tool(list.clear, given := [1, 2])
    assert given == []
    (row,) = steps(run.run_id)
    assert row["given"] == {"self": [1, 2]}


def test_a_value_that_cannot_be_kept_stops_the_call_before_it_is_made(recorder: Recorder, steps: Any) -> None:
    loop: list[object] = []
    loop.append(loop)
    made: list[object] = []
    with recorder.run() as run:
        with pytest.raises(EncodingError):
            run.tool(made.append, loop)
        with pytest.raises(EncodingError):  # and a result that cannot be kept is not handed out
            run.tool(lambda: loop)
    assert made == []
    (row,) = steps(run.run_id)
    assert row["error"]["type"].endswith("EncodingError")


@pytest.mark.parametrize(
    "error",
    [ValueError("bad\0"), KeyboardInterrupt(), SystemExit(3), GeneratorExit(), asyncio.CancelledError()],
)
def test_whatever_is_raised_is_recorded_and_raised_unchanged(
    recorder: Recorder, steps: Any, error: BaseException
) -> None:
    def fail() -> None:
        raise error

    run = recorder.start()
    with pytest.raises(type(error)) as caught:
        run.tool(fail)
    assert caught.value is error
    assert any(entry.name == "fail" for entry in caught.traceback)
    (row,) = steps(run.run_id)
    assert row["output"] is None
    assert row["error"]["type"].endswith(type(error).__name__)
    assert row["error"]["message"].startswith(str(error)[:3])


def test_what_is_no_function_is_told_so_and_is_no_step(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        result: Any = 7
        with pytest.raises(UsageError, match=r"7 is no function: .* run\.tool\(f, 1\)"):
            run.tool(result)
    assert steps(run.run_id) == []


def test_a_run_that_is_not_begun_says_how_it_is(recorder: Recorder) -> None:
    opening: Any = recorder.run()
    with pytest.raises(AttributeError, match=r"'tool'.*not begun.*with recorder\.run"):
        opening.tool(search, "a")
    with pytest.raises(AttributeError, match=r"'nothing'$"):
        _ = opening.nothing


def test_an_exception_whose_text_raises_is_recorded_too(recorder: Recorder, steps: Any) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def fail() -> None:
        raise OddError

    with recorder.run() as run, pytest.raises(OddError):
        run.tool(fail)
    (row,) = steps(run.run_id)
    assert row["error"]["message"] == "<str raised RuntimeError>"


def test_steps_taken_inside_a_step_name_it_as_their_parent(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run, recorder.run() as other:

        def inner() -> None:
            run.tool(search, "a")
            other.tool(search, "elsewhere")

        def outer() -> None:
            run.tool(inner)
            run.state({"a": 1})

        run.tool(outer)
        run.tool(search, "b")
    assert [(r["step_number"], r["name"], r["parent_step"]) for r in steps(run.run_id)] == [
        (1, "outer", None),
        (2, "inner", 1),
        (3, "search", 2),
        (4, None, 1),
        (5, "search", None),
    ]
    assert [r["parent_step"] for r in steps(other.run_id)] == [None]


def test_a_block_is_a_step(recorder: Recorder, steps: Any) -> None:
    with recorder.run() as run:
        with run.step("tool_call", "shell", {"cmd": "ls"}, seed=4) as step:
            assert step.number == 1
            run.tool(search, "inside")
            step.output = ["a"]
        with run.step("thought") as step:
            step.set("hm")
        half_done = run.step("tool_call", "half")
        half_done.output = "so far"
        with pytest.raises(ValueError, match="no"), half_done:
            raise ValueError("no")
    shell, inside, thought, half = steps(run.run_id)
    assert (shell["given"], shell["got"], shell["seed"]) == ({"cmd": "ls"}, ["a"], 4)
    assert inside["parent_step"] == 1
    assert (thought["step_type"], thought["name"], thought["got"]) == ("thought", None, "hm")
    assert (half["got"], half["error"]["message"]) == ("so far", "no")


def test_a_closed_recorder_refuses_in_one_line(recorder: Recorder) -> None:
    made: list[int] = []
    run = recorder.start()
    recorder.close()
    recorder.close()
    with pytest.raises(RecordingError, match="the recorder is closed"):
        run.tool(made.append, 1)
    assert made == []


def test_a_name_that_no_database_holds_is_refused(run: Run) -> None:
    with pytest.raises(stepwell.UsageError, match="cannot be a name"):
        run.named("a\0b")


@pytest.fixture
def run(recorder: Recorder) -> Run:
    return recorder.start()


def test_a_file_like_result_is_a_value_and_handed_out_as_it_is(run: Run, steps: Any, tmp_path: Any) -> None:
    path = tmp_path / "f"
    path.write_text("x")
    with run.tool(open, path) as file:
        assert file.read() == "x"
    (row,) = steps(run.run_id)
    assert not isinstance(row["got"], Streamed)


def test_a_mock_is_a_value_although_it_can_do_everything(run: Run, steps: Any) -> None:
    reply = MagicMock()
    assert run.llm(MagicMock(return_value=reply), model="m") is reply
    (row,) = steps(run.run_id)
    assert (row["name"], row["given"]) == ("m", {"model": "m"})
