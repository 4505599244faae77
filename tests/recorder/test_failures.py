"""When the database fails: the callers concerned hear of it, and nobody else."""

import logging
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from stepwell import Recorder, RecordingError
from stepwell.core.liveness import lock_key
from stepwell.recorder import batches, line, link
from stepwell.recorder.intents import StartStep
from stepwell.recorder.outcomes import Outcomes

Observer = psycopg.Connection[dict[str, Any]]


def add_check(connection: Observer, check: str) -> None:
    connection.execute(f"ALTER TABLE agent_steps ADD CONSTRAINT refused CHECK ({check})")


def in_threads(*calls: Callable[[], object]) -> list[object]:
    """What each of the calls returned or raised, made at the same time."""
    outcomes: list[object] = [None] * len(calls)

    def work(n: int, call: Callable[[], object]) -> None:
        try:
            outcomes[n] = call()
        except Exception as error:
            outcomes[n] = error

    threads = [threading.Thread(target=work, args=(n, call)) for n, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return outcomes


def hold(connection: Observer, run_id: Any) -> None:
    connection.execute("BEGIN")
    connection.execute("SELECT FROM agent_runs WHERE run_id = %s FOR UPDATE", (run_id,))


def kill_recorders(connection: Observer) -> None:
    """End every session of this database but the observer's own."""
    connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def test_a_step_that_the_database_refuses_is_not_made(
    recorder: Recorder, connection: Observer, steps: Any
) -> None:
    add_check(connection, "name <> 'bad'")
    made: list[int] = []
    with recorder.run() as run:
        with pytest.raises(
            RecordingError, match=r"bad of run .* not recorded and so not made: .*refused"
        ) as caught:
            run.named("bad").tool(made.append, 1)
        run.named("good").tool(made.append, 2)
    assert made == [2]
    assert "\n" not in str(caught.value)
    assert [(r["step_number"], r["name"]) for r in steps(run.run_id)] == [(1, "good")]


def test_a_result_that_the_database_refuses_is_not_handed_out(
    recorder: Recorder, connection: Observer, steps: Any
) -> None:
    add_check(connection, "output IS DISTINCT FROM '\"bad\"'::jsonb")
    with recorder.run() as run, pytest.raises(RecordingError, match=r"outcome of step 1 .*not recorded"):
        run.tool(lambda: "bad")
    assert steps(run.run_id)[0]["output"] is None  # in doubt, which is true


def test_one_bad_row_never_fails_its_neighbours(recorder: Recorder, connection: Observer, steps: Any) -> None:
    add_check(connection, "name <> 'bad' AND output IS DISTINCT FROM '\"bad\"'::jsonb")
    run = recorder.start()

    def call(name: str, result: str) -> Callable[[], object]:
        return lambda: run.named(name).tool(lambda: result)

    calls = [call("bad" if n == 3 else "good", "bad" if n == 5 else str(n)) for n in range(8)]
    hold(connection, run.run_id)  # so that all of them are in one batch
    release = threading.Timer(0.3, lambda: connection.execute("COMMIT"))
    release.start()
    outcomes = in_threads(*calls)
    release.join()
    assert [isinstance(outcome, RecordingError) for outcome in outcomes] == [n in (3, 5) for n in range(8)]
    rows = steps(run.run_id)
    assert [row["step_number"] for row in rows] == list(range(1, 8))
    assert sorted(str(row["got"]) for row in rows) == ["0", "1", "2", "4", "6", "7", "None"]
    assert sorted(r["finished_order"] for r in rows if r["finished_order"]) == list(range(1, 7))


def test_a_refused_state_does_not_spoil_the_next(
    recorder: Recorder, connection: Observer, steps: Any
) -> None:
    add_check(connection, "input -> '$patch' -> 0 ->> 'to' IS DISTINCT FROM '2'")
    run = recorder.start()
    run.state({"n": 1, "m": 1})
    with pytest.raises(RecordingError):
        run.state({"n": 2, "m": 1})
    run.state({"n": 3, "m": 1})
    assert steps(run.run_id)[-1]["given"] == {"$patch": [{"set": [], "to": {"n": 3, "m": 1}}]}


def test_a_lost_connection_is_reopened_and_the_run_stays_alive(
    recorder: Recorder, connection: Observer, steps: Any
) -> None:
    with recorder.run() as run:
        assert run.tool(len, "a") == 1
        kill_recorders(connection)
        assert run.tool(len, "ab") == 2
        kill_recorders(connection)
        with run.step("tool_call", "lost in between") as step:
            kill_recorders(connection)
            step.output = 3
        key = lock_key(run.run_id)
        assert connection.execute("SELECT pg_try_advisory_lock(%s) AS free", (key,)).fetchone() == {
            "free": False
        }
        kill_recorders(connection)
        run.state({"a": 1})
        kill_recorders(connection)
    assert [(r["step_number"], r["finished_order"], r["got"]) for r in steps(run.run_id)] == [
        (1, 1, 1),
        (2, 2, 2),
        (3, 3, 3),
        (4, 4, ["$"]),
    ]


@pytest.mark.parametrize("committed", [True, False])
def test_an_intent_whose_commit_is_unknown_is_recorded_once(
    recorder: Recorder, connection: Observer, steps: Any, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """The connection breaks just before or just after the commit, and the recorder cannot know which."""
    run = recorder.start()
    write = batches.write
    lost: list[int] = []

    def breaking(connected: Any, intents: Any, books: Any, *sent: Any) -> Any:
        if not lost and any(isinstance(intent, StartStep) for intent in intents):
            lost.append(1)
            if committed:
                books, intents = dict(books), [_copy(intent) for intent in intents]
                write(connected, intents, {}, Outcomes(lazy=False))
            kill_recorders(connection)
            return write(connected, intents, books, *sent)
        return write(connected, intents, books, *sent)

    monkeypatch.setattr(link, "write", breaking)
    assert in_threads(*[lambda n=n: run.tool(str, n) for n in range(4)]) == ["0", "1", "2", "3"]
    assert lost
    rows = steps(run.run_id)
    assert [r["step_number"] for r in rows] == [1, 2, 3, 4]
    assert sorted(r["got"] for r in rows) == ["0", "1", "2", "3"]


def _copy(intent: Any) -> StartStep:
    """Committed under the same content, without the caller hearing of it."""
    return StartStep(intent.row)


def test_a_transaction_in_the_way_is_waited_out_and_tried_again(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, failures = (
        batches.write,
        [psycopg.errors.SerializationFailure(), psycopg.errors.DeadlockDetected()],
    )

    def failing(*given: Any) -> Any:
        if failures:
            raise failures.pop()
        return write(*given)

    run = recorder.start()
    monkeypatch.setattr(link, "write", failing)
    assert run.tool(len, "ab") == 2
    assert failures == []


def test_while_nothing_answers_every_caller_hears_so_and_it_goes_on_afterwards(
    recorder: Recorder,
    connection: Observer,
    shut: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
    steps: Any,
) -> None:
    monkeypatch.setattr(line, "PAUSES", (0.01, 0.01))
    run = recorder.start()
    shut(True)
    kill_recorders(connection)
    made: list[int] = []
    outcomes = in_threads(*[lambda: run.tool(made.append, 1)] * 3)
    assert all(isinstance(outcome, RecordingError) for outcome in outcomes)
    assert "not currently accepting connections" in str(outcomes[0])
    assert made == []
    shut(False)
    assert run.tool(len, "back") == 4
    assert [row["step_number"] for row in steps(run.run_id)] == [1]


def test_the_error_that_ends_a_run_outranks_the_failure_to_record_it(
    recorder: Recorder, connection: Observer
) -> None:
    def lose() -> None:
        connection.execute("DELETE FROM agent_runs")
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught, recorder.run():
        lose()
    assert "no longer in the database" in caught.value.__notes__[0]
    with pytest.raises(RecordingError, match="no longer in the database"), recorder.run():
        connection.execute("DELETE FROM agent_runs")


def test_an_interruption_outranks_the_failure_to_record_it(recorder: Recorder, connection: Observer) -> None:
    def interrupt() -> None:
        connection.execute("DELETE FROM agent_steps")
        raise KeyboardInterrupt

    run = recorder.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        run.tool(interrupt)
    assert "not recorded" in caught.value.__notes__[0]


def test_what_nobody_waits_for_is_logged_when_it_fails(
    recorder: Recorder, connection: Observer, caplog: pytest.LogCaptureFixture
) -> None:
    run = recorder.start()
    stream = run.tool(lambda: (n for n in range(3)))
    next(stream)
    connection.execute("DELETE FROM agent_steps")
    with caplog.at_level(logging.ERROR, "stepwell"):
        del stream
        recorder.close()
    assert "outcome of step 1" in caplog.text


def test_a_role_that_may_not_write_is_told_so(schema_dsn: str, connection: Observer) -> None:
    role = f"reader_{connection.info.dbname}"
    connection.execute(f"CREATE ROLE {role} LOGIN")
    try:
        recorder = Recorder(f"{schema_dsn} user={role}")
        with pytest.raises(RecordingError, match="permission denied"):
            recorder.start()
        recorder.close()
    finally:
        connection.execute(f"DROP ROLE {role}")
