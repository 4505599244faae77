"""Who may save branches of runs, and what becomes of the runs that they leave."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from stepwell.core.branching import tail_of
from stepwell.core.whatif import what_if
from stepwell.errors import DatabaseError, NotFoundError
from stepwell.replay.recorded import load
from stepwell.replay.runs import Runs
from stepwell.replay.whatif import save
from stepwell.store import pruning
from stepwell.store.connect import connect, resolve
from stepwell.store.queries import sql_folder
from tests.replay.rows import add_step
from tests.store.branched import Stored
from tests.store.conftest import wait_until


def test_a_run_is_not_deleted_before_its_branches(stored: Stored) -> None:
    branch = stored.edit(12, "no error any more")
    with closing(connect(stored.target)) as connection:
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute("DELETE FROM agent_runs WHERE run_id = %s", (stored.run_id,))
        connection.execute("DELETE FROM agent_runs WHERE run_id = ANY (%s)", ([branch, stored.run_id],))


def test_a_run_that_is_deleted_meanwhile_is_told(stored: Stored) -> None:
    tail = tail_of(what_if(load(stored.target, str(stored.run_id)), 12, "no error any more"))
    with closing(connect(stored.target)) as connection, ThreadPoolExecutor() as pool:
        with connection.transaction():
            connection.execute("DELETE FROM agent_runs WHERE run_id = %s", (stored.run_id,))
            saving = pool.submit(save, stored.target, stored.run_id, tail)
            blocked = (
                "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
            )
            wait_until(lambda: connection.execute(blocked).rowcount > 0)
        with pytest.raises(NotFoundError, match="has been deleted meanwhile; nothing was saved"):
            saving.result()


def test_prune_spares_what_a_branch_has_its_steps_from_and_takes_both_when_both_are_old(
    stored: Stored,
) -> None:
    branch = stored.edit(12, "no error any more")
    deeper = stored.edit(12, "nor any other", branch)
    span = "interval '9 days'"
    age = f"UPDATE agent_runs SET started_at = started_at - {span}, finished_at = finished_at - {span}"
    with closing(connect(stored.target)) as connection:
        connection.execute(f"{age} WHERE run_id <> %s", (deeper,))
        assert pruning.prunable(connection, timedelta(days=1)) == (pruning.Pruned(), [])
        assert sum(done.runs for done in pruning.prune(connection, timedelta(days=1))) == 0
        connection.execute(f"{age} WHERE run_id = %s", (deeper,))
        would, runs = pruning.prunable(connection, timedelta(days=1))
        assert {run.run_id for run in runs} == {stored.run_id, branch, deeper}
        done = sum(pruning.prune(connection, timedelta(days=1)), pruning.Pruned())
        assert done == would
        assert connection.execute("SELECT count(*) FROM agent_steps").fetchone() == (0,)


def test_who_may_only_look_is_told_which_right_is_missing(stored: Stored) -> None:
    with psycopg.connect(stored.target.conninfo, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS stepwell_test_brancher")
        connection.execute("CREATE ROLE stepwell_test_brancher LOGIN")
        connection.execute("GRANT SELECT ON agent_runs, agent_steps TO stepwell_test_brancher")
    looker = resolve(make_conninfo(stored.target.conninfo, user="stepwell_test_brancher"))
    made = what_if(load(looker, str(stored.run_id)), 12, "no error any more")
    with pytest.raises(DatabaseError, match=r"may not save a branch .* INSERT on agent_runs and agent_steps"):
        save(looker, stored.run_id, tail_of(made))
    with closing(Runs(looker)) as runs:
        assert len(runs.page(10)) == 1


def test_a_recorder_may_save_a_branch(stored: Stored) -> None:
    roles = (sql_folder() / "roles.sql").read_bytes()
    with psycopg.connect(stored.target.conninfo, autocommit=True) as connection:
        connection.execute(roles)
        connection.execute("DROP ROLE IF EXISTS stepwell_test_forker")
        connection.execute("CREATE ROLE stepwell_test_forker LOGIN IN ROLE stepwell_recorder")
    made = what_if(load(stored.target, str(stored.run_id)), 12, "no error any more")
    recorder = resolve(make_conninfo(stored.target.conninfo, user="stepwell_test_forker"))
    assert save(recorder, stored.run_id, tail_of(made))


def test_a_run_without_a_row_of_its_own_cannot_be_left(stored: Stored) -> None:
    run_id = uuid4()
    add_step(stored.target.conninfo, 1, "tool_call", output="by hand", run_id=run_id)
    made = what_if(load(stored.target, str(run_id)), 1, "other")
    with pytest.raises(NotFoundError, match=r"has no row in agent_runs .* stepwell init"):
        save(stored.target, run_id, tail_of(made))
