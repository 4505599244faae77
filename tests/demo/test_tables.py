"""The demo's tables: where they are made, where they cannot be, and what a second demo leaves as it was."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from stepwell.core.past import Certainty, Verdict
from stepwell.core.steps import RunHead
from stepwell.core.world import Moment
from stepwell.demo.record import record_approval
from stepwell.recorder.recorder import Recorder
from stepwell.replay import Replayer
from stepwell.replay.runs import Runs
from stepwell.store.connect import resolve
from tests.pooler import pooler

ROLE = "stepwell_test_shopkeeper"
STATUS = "SELECT status FROM orders WHERE id = 8244"
SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'stepwell%' ORDER BY 1"


@pytest.fixture
def admin(schema_dsn: str) -> Iterator[psycopg.Connection]:
    """Who may give rights to a role that may record, and do nothing else."""
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {ROLE}")
        connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'it'")
        connection.execute(f"GRANT SELECT, INSERT, UPDATE ON agent_steps, agent_runs TO {ROLE}")
        yield connection
        connection.execute(f"DROP OWNED BY {ROLE}")
        connection.execute(f"DROP ROLE {ROLE}")


@pytest.fixture
def keeper(schema_dsn: str) -> str:
    """Conninfo of that role."""
    return make_conninfo(schema_dsn, user=ROLE, password="it")


def record(dsn: str) -> list[str]:
    """What was said while the run was recorded, or was not."""
    told: list[str] = []
    with Recorder(dsn) as recorder:
        record_approval(recorder, resolve(dsn), told.append)
    return told


def recorded(dsn: str) -> list[RunHead]:
    with closing(Runs(resolve(dsn))) as runs:
        return list(runs.page(10))


def held_at(dsn: str, head: RunHead) -> list[tuple[str | None, Verdict | None]]:
    """The order's status before its fifth step and after it."""
    with closing(Replayer(resolve(dsn), head.run_id)) as replayer:
        answers = [replayer.query(5, moment, STATUS, limit=2) for moment in (Moment.ASKED, Moment.AFTER)]
    return [(answer.rows.rows[0][0], answer.seen[0].verdict) for answer in answers]


HELD = [("paid", Verdict(Certainty.EXACT)), ("on hold", Verdict(Certainty.EXACT))]


def test_a_second_demo_leaves_the_first_one_explained(schema_dsn: str) -> None:
    assert record(schema_dsn) == record(schema_dsn) == []
    runs = recorded(schema_dsn)
    assert [held_at(schema_dsn, head) for head in runs] == [HELD, HELD]


@pytest.mark.parametrize("watched", [False, True], ids=["no schema", "no right to watch beside others"])
def test_a_role_that_may_not_have_it_is_told_why_and_nothing_is_left(
    admin: psycopg.Connection, keeper: str, watched: bool
) -> None:
    if watched:
        admin.execute("CREATE SCHEMA stepwell_log")
        admin.execute(f"GRANT CREATE ON DATABASE {admin.info.dbname} TO {ROLE}")
    before = admin.execute(SCHEMAS).fetchall()
    (told,) = record(keeper)
    assert told.startswith("refund-approval is left out, for it needs tables of its own that are watched: ")
    assert "permission denied for " in told or f"{ROLE} may not " in told
    assert recorded(keeper) == []
    assert admin.execute(SCHEMAS).fetchall() == before


def test_a_role_that_may_make_no_roles_has_it_too(admin: psycopg.Connection, keeper: str) -> None:
    admin.execute(f"GRANT CREATE ON DATABASE {admin.info.dbname} TO {ROLE}")
    assert record(keeper) == []
    (head,) = recorded(keeper)
    assert held_at(keeper, head) == HELD


def test_behind_a_pooler_it_is_recorded_too(schema_dsn: str, short_folder: Path) -> None:
    with pooler(schema_dsn, short_folder) as pooled:
        assert record(pooled) == []
    (head,) = recorded(schema_dsn)
    assert held_at(schema_dsn, head) == HELD
