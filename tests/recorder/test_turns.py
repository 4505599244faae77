"""A caller that commits by itself may be interrupted anywhere: nothing is lost, doubled, or left waiting."""

import contextlib
import gc
import io
import random
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from types import FrameType, FunctionType
from typing import Any

import psycopg
import pytest

from stepwell import Recorder, Run, current_run
from stepwell.recorder import writer
from stepwell.recorder.context import _current
from stepwell.recorder.trail import Trail
from stepwell.recorder.turns import Turn
from tests.recorder.test_failures import hold, in_threads

CALLED_BACK = {weakref.__file__, weakref.WeakSet.add.__code__.co_filename}
"""Where what weak references call is from."""
Observer = psycopg.Connection[dict[str, Any]]


@pytest.fixture
def run(recorder: Recorder) -> Run:
    return recorder.start()


def writer_of(run: Run) -> writer.Writer:
    assert isinstance(run.book, Trail)
    return run.book.writer


@contextlib.contextmanager
def blocked(connection: Observer, run: Run, seconds: float) -> Iterator[None]:
    """Nothing can be written into the run for so long."""
    hold(connection, run.run_id)
    release = threading.Timer(seconds, lambda: connection.execute("COMMIT"))
    release.start()
    yield
    release.join()


@contextlib.contextmanager
def on_alarm(handle: Any, seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.signal(signal.SIGALRM, before)


def refuse(*_: object) -> None:
    raise TimeoutError("too slow")


def is_lost_in(frame: FrameType) -> bool:
    """Whether the interpreter drops what is raised there: it collects garbage, whatever else was being done."""
    code = frame.f_code
    called_back = {call.__code__ for call in gc.callbacks if isinstance(call, FunctionType)}  # by hypothesis
    return code in called_back or code.co_name == "__del__" or code.co_filename in CALLED_BACK


@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError])
def test_an_interrupted_step_is_recorded_once_and_not_made(
    run: Run, connection: Observer, steps: Any, raised: type[BaseException]
) -> None:
    def interrupt(*_: object) -> None:
        raise raised("too slow")

    made: list[int] = []
    run.tool(len, "a")
    with (
        blocked(connection, run, 0.4),
        on_alarm(interrupt, 0.1),
        pytest.raises(raised, match="too slow"),
    ):
        run.tool(made.append, 1)
    assert made == []
    assert run.tool(len, "ab") == 2
    rows = steps(run.run_id)
    assert [row["step_number"] for row in rows] == [1, 2, 3]
    assert [row["error"] and row["error"]["type"] for row in rows] == [None, raised.__name__, None]


def test_what_other_callers_gave_to_an_interrupted_one_is_committed(
    run: Run, connection: Observer, steps: Any
) -> None:
    outcomes: list[object] = []
    others = threading.Timer(
        0.05, lambda: outcomes.extend(in_threads(*[lambda n=n: run.tool(str, n) for n in range(5)]))
    )
    others.start()
    with blocked(connection, run, 0.4), on_alarm(refuse, 0.1), pytest.raises(TimeoutError):
        run.tool(len, "a")
    others.join()
    assert outcomes == ["0", "1", "2", "3", "4"]
    assert [row["step_number"] for row in steps(run.run_id)] == [1, 2, 3, 4, 5, 6]


def test_a_handler_of_signals_may_record_in_the_middle_of_a_commit(
    run: Run, connection: Observer, steps: Any
) -> None:
    handled: list[int] = []

    def record(*_: object) -> None:
        handled.append(run.named("handler").tool(len, "abc"))

    with blocked(connection, run, 0.3), on_alarm(record, 0.1):
        assert run.tool(len, "a") == 1
    assert handled == [3]
    rows = steps(run.run_id)
    assert [row["step_number"] for row in rows] == [1, 2]
    assert sorted(row["got"] for row in rows) == [1, 3]


def test_a_turn_that_ended_unseen_holds_up_nobody(
    run: Run, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE", 0.01)
    turns = writer_of(run)._turns
    thread = threading.Thread(target=lambda: turns.begin(Turn()))
    thread.start()
    thread.join()
    assert run.tool(len, "a") == 1
    turns.begin(Turn())  # and one of this thread
    assert run.tool(len, "ab") == 2
    assert [row["got"] for row in steps(run.run_id)] == [1, 2]
    turns.begin(Turn())
    writer_of(run).close()  # which would wait for ever


def test_a_caller_alone_needs_no_other_thread(recorder: Recorder) -> None:
    def names() -> set[str]:
        return {thread.name for thread in threading.enumerate()}

    before = names()
    with recorder.run() as run:
        run.tool(len, "a")
        run.state({"a": 1})
    recorder.close()
    assert names() <= before


def entered(_: FrameType, event: str, called: Any) -> None:
    """Raises once, when a step is entered and its call has not yet begun, as a signal's handler may."""
    if event == "c_return" and called == _current.set:
        sys.setprofile(None)
        raise TimeoutError("too slow")


@pytest.mark.parametrize("way", ["tool", "stream", "close", "manager"])
def test_an_interrupt_while_a_step_is_entered_leaves_nothing_inside_of_it(
    run: Run, steps: Any, way: str
) -> None:
    stream = run.tool(lambda: iter("ab"))
    manager = run.llm(lambda: contextlib.closing(io.StringIO()))
    ways: dict[str, Any] = {
        "tool": lambda: run.tool(len, "a"),
        "stream": lambda: next(stream),
        "close": stream.close,  # type: ignore[attr-defined]  # what is recorded can be closed
        "manager": manager.__enter__,
    }
    sys.setprofile(entered)
    try:
        with pytest.raises(TimeoutError):
            ways[way]()
    finally:
        sys.setprofile(None)
    assert current_run() is None
    assert [row["error"]["type"] for row in steps(run.run_id) if row["error"]] == ["TimeoutError"]


@pytest.mark.filterwarnings(  # what an interrupt ends there: the start of a thread, the making of a connection
    "ignore:Exception ignored in thread started by:pytest.PytestUnraisableExceptionWarning",
    "ignore:.*was deleted while still open:ResourceWarning",
)
def test_interruptions_at_any_point_leave_no_gap_and_nobody_waiting(
    run: Run, steps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE", 0.05)
    chance = random.Random(7)
    over = threading.Event()

    def interrupt(_: int, frame: FrameType | None) -> None:
        if not over.is_set():
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0003, 0.004))
        while frame is not None and not is_lost_in(frame):
            if frame.f_code is Run.tool.__code__:
                raise TimeoutError
            frame = frame.f_back

    def work(who: str) -> list[str]:
        return [run.agent(who).tool(str, n) for n in range(20)]

    outcomes: list[object] = []
    others = threading.Thread(
        target=lambda: outcomes.extend(in_threads(lambda: work("a"), lambda: work("b")))
    )
    with on_alarm(interrupt, 0.001):
        others.start()
        for n in range(20):
            with contextlib.suppress(TimeoutError):
                run.agent("interrupted").tool(str, n)
            assert current_run() is None
        over.set()  # one that comes now begins no other
        signal.setitimer(signal.ITIMER_REAL, 0)
    others.join()
    assert outcomes == [[str(n) for n in range(20)]] * 2
    rows = steps(run.run_id)
    assert [row["step_number"] for row in rows] == list(range(1, len(rows) + 1))
    finished = [row["finished_order"] for row in rows if row["finished_order"]]
    assert sorted(finished) == list(range(1, len(finished) + 1))
    given = [(row["agent"], str(row["given"])) for row in rows]
    assert len(set(given)) == len(given)
    assert {row["parent_step"] for row in rows} == {None}
    gc.collect()  # what an interrupt left behind is this test's
