"""Records the demo's five runs, oldest first.

One goes well, one dies, one is a swarm, one fails over a row that another program changed meanwhile, one loops.
"""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import stepwell
from stepwell.demo import agent, approval, crash, swarm, warehouse
from stepwell.errors import DatabaseError, RecordingError
from stepwell.store.connect import Target, connect, prepare
from stepwell.store.tags import any_ended

TAG = "demo"
LAST = "loop"
"""The story that is recorded last: where it is complete, all are there."""
WELL_TICKET = "The lamp of order 8177 came broken, I would like my money back. (customer 57)"


def record_demo(target: Target, *, again: bool = False, progress: Callable[[str], None]) -> bool:
    """Record the five runs, unless they are there and `again` is not set; whether that was done.

    The tables of Stepwell have to be there. `progress` is told, in a line, what is being done, and what cannot be.
    Raises DatabaseError and RecordingError.
    """
    if not again and _is_there(target):
        return False
    progress(f"recording five runs into {target.describe()}")
    with stepwell.Recorder(target.conninfo) as recorder:
        with recorder.run("refund-triage", tags=_tags("well")) as run:
            agent.triage(run, WELL_TICKET)
        record_crash(target)
        with recorder.run("refund-swarm", tags=_tags("swarm")) as run:
            asyncio.run(swarm.work(run))
        record_approval(recorder, target, progress)
        # The run's own end: recorded as its error, and of no interest to the demo itself.
        with (
            contextlib.suppress(agent.MaxTurnsError),
            recorder.run("refund-triage", tags=_tags(LAST)) as run,
        ):
            agent.looping(run)
    return True


def _tags(story: str) -> dict[str, object]:
    return {TAG: 1, "story": story}


def _is_there(target: Target) -> bool:
    with closing(connect(target)) as connection:
        return any_ended(connection, _tags(LAST))


def record_crash(target: Target) -> None:
    """Have another process record, and kill it within a call."""
    prepare(target)
    process = subprocess.Popen(
        [sys.executable, "-m", crash.__name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{target.conninfo}\n")
        process.stdin.flush()
        said = process.stdout.readline().strip()
        process.kill()
    if said != crash.HANGS:
        raise RecordingError("the demo's second process ended before it could be killed; see above")


def record_approval(recorder: stepwell.Recorder, target: Target, progress: Callable[[str], None]) -> None:
    """Record the agent that works on tables, while another process writes them; not where tables cannot be watched."""
    with closing(warehouse.open_as(target, approval.NAME)) as connection:
        try:
            notes = warehouse.make_tables(connection)
        except DatabaseError as problem:
            progress(
                f"{approval.NAME} is left out, for it needs tables of its own that are watched: {problem}"
            )
            return
        for note in notes:
            progress(note)
        with warehouse.syncing(target) as sync:
            desk = approval.Desk(connection, sync.hold)
            with (
                contextlib.suppress(approval.RefundError),
                recorder.run(approval.NAME, tags=_tags("approval")) as run,
            ):
                own = run.named(connection=connection)
                agent.triage(
                    own, approval.TICKET, desk.tools, system=approval.SYSTEM, complete=approval.complete
                )
            sync.release()
