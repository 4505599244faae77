"""The background thread of a screen: one job at a time, the newest of each kind, and failures told."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import Empty, Queue

import pytest
from textual.message import Message

from stepwell.app.messages import Failed
from stepwell.app.worker import Job, Worker
from stepwell.errors import DatabaseError

WAIT = 10


class Done(Message):
    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what


@contextmanager
def working(
    idle: Job | None = None, interval: Callable[[], float | None] = lambda: None
) -> Iterator[tuple[Worker, "Queue[Message]"]]:
    """A worker and what it posts; `closed` is posted at its end."""
    posted: Queue[Message] = Queue()
    worker = Worker(posted.put, lambda: posted.put(Done("closed")), idle, interval)
    worker.start()
    try:
        yield worker, posted
    finally:
        worker.stop()


def what(posted: "Queue[Message]") -> str:
    message = posted.get(timeout=WAIT)
    assert isinstance(message, Done)
    return message.what


def test_only_the_newest_of_a_kind_is_done() -> None:
    """Those that wait while another runs; other kinds are not lost."""
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> Message:
        begun.set()
        go_on.wait(WAIT)
        return Done("slow")

    with working() as (worker, posted):
        worker.submit("move", slow)
        assert begun.wait(WAIT)
        assert worker.busy
        for number in range(50):
            worker.submit("move", partial(Done, f"move {number}"))
        worker.submit("search", lambda: Done("search"))
        go_on.set()
        assert [what(posted) for _ in range(3)] == ["slow", "move 49", "search"]
        assert posted.empty()


def test_a_failure_is_told_and_the_next_job_done() -> None:
    """With the kind of the job that failed."""

    def fails() -> Message:
        raise DatabaseError("no answer")

    def breaks() -> Message:
        raise ZeroDivisionError("division by zero")

    with working() as (worker, posted):
        for job in (fails, breaks):
            worker.submit("move", job)
            message = posted.get(timeout=WAIT)
            assert isinstance(message, Failed)
            assert (message.job, message.text) in (
                ("move", "no answer"),
                ("move", "ZeroDivisionError: division by zero"),
            )
        worker.submit("move", lambda: Done("well"))
        assert what(posted) == "well"


def test_it_is_busy_until_what_a_job_came_to_is_posted() -> None:
    """Who waits for it to be idle has been told by then."""
    seen: Queue[bool] = Queue()
    worker = Worker(lambda _: seen.put(worker.busy), lambda: None)
    worker.start()
    worker.submit("move", lambda: Done("well"))
    assert seen.get(timeout=WAIT)
    worker.stop()


def test_nothing_new_is_not_posted() -> None:
    """A job may return None."""
    with working() as (worker, posted):
        worker.submit("poll", lambda: None)
        worker.submit("move", lambda: Done("well"))
        assert what(posted) == "well"


def test_idle_jobs_run_while_there_is_nothing_else_to_do() -> None:
    """Again and again, until the interval is None."""
    left = [0.0, 0.0, 0.0]
    with working(lambda: Done("idle"), lambda: left.pop() if left else None) as (worker, posted):
        assert [what(posted) for _ in range(3)] == ["idle"] * 3
        worker.submit("move", lambda: Done("move"))
        assert what(posted) == "move"


def test_a_worker_without_an_interval_sleeps_until_it_is_needed() -> None:
    """No idle job, no turning in circles."""
    with working(lambda: Done("idle")) as (worker, posted):
        worker.submit("move", lambda: Done("move"))
        assert what(posted) == "move"
        while worker.busy:  # until what it came to has been posted
            time.sleep(0.001)
        assert posted.empty()


def test_stopping_closes_in_the_worker_own_thread() -> None:
    """Jobs that wait are dropped, and what the last one came to is not posted any more."""
    closed: list[threading.Thread] = []
    posted: Queue[Message] = Queue()
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> Message:
        begun.set()
        go_on.wait(WAIT)
        return Done("slow")

    worker = Worker(posted.put, lambda: closed.append(threading.current_thread()))
    worker.start()
    worker.submit("move", slow)
    worker.submit("search", lambda: Done("search"))
    assert begun.wait(WAIT)
    worker.stop(timeout=0.0)
    go_on.set()
    worker.stop(timeout=WAIT)
    assert [thread.name for thread in closed] == ["stepwell worker"]
    assert posted.empty()


def test_what_is_to_be_kept_is_done_though_the_worker_is_stopped_before_its_turn() -> None:
    """A breakpoint set a moment before one leaves is there the next time; what is only shown is not waited for."""
    begun, go_on = threading.Event(), threading.Event()
    kept: list[str] = []

    def slow() -> None:
        begun.set()
        go_on.wait(WAIT)

    def job(word: str) -> Job:
        return lambda: kept.append(word)

    with working() as (worker, posted):
        worker.submit("move", slow)
        assert begun.wait(WAIT)
        worker.submit("move", job("shown"))
        worker.submit("remember", job("an older one of its kind"), lasting=True)
        worker.submit("remember", job("kept"), lasting=True)
        worker.stop(timeout=0.0)
        go_on.set()
        assert what(posted) == "closed"
    assert kept == ["kept"]


def test_a_rest_lets_no_job_begin_until_it_is_over() -> None:
    """And cancels the job under way that does not end by itself."""
    begun, cancelled = threading.Event(), threading.Event()

    def endless() -> Message:
        begun.set()
        return Done("cancelled" if cancelled.wait(WAIT) else "never")

    with working() as (worker, posted):
        worker.submit("search", endless)
        assert begun.wait(WAIT)
        worker.rest(cancelled.set)
        worker.submit("move", lambda: Done("move"))
        assert what(posted) == "cancelled"
        with pytest.raises(Empty):
            posted.get(timeout=0.05)
        worker.go_on()
        assert what(posted) == "move"


def test_what_was_cancelled_is_the_job_of_that_time_and_no_later_one() -> None:
    """However late it is that somebody gets round to it; and the next waits until it is done."""
    begun, go_on, cancelling, cancelled = (threading.Event() for _ in range(4))

    def slow() -> Message:
        begun.set()
        go_on.wait(WAIT)
        return Done("slow")

    def cancel() -> None:
        cancelling.set()
        cancelled.wait(WAIT)

    with working() as (worker, posted):
        worker.submit("move", lambda: Done("first"))
        first = worker.current
        assert what(posted) == "first"
        worker.submit("search", slow)
        assert begun.wait(WAIT)
        worker.cancel(first, lambda: pytest.fail("another job is under way"))
        thread = threading.Thread(target=worker.cancel, args=[worker.current, cancel])
        thread.start()
        assert cancelling.wait(WAIT)
        worker.submit("move", lambda: Done("next"))
        go_on.set()
        assert what(posted) == "slow"
        with pytest.raises(Empty):
            posted.get(timeout=0.05)
        cancelled.set()
        assert what(posted) == "next"
        thread.join()


def test_stopping_what_never_began_is_harmless() -> None:
    """A screen may be gone before it was shown."""
    Worker(lambda _: None, lambda: None).stop()
