"""A million runs: pages and filters give what a plain query over all of them gives."""

import psycopg
import pytest

from stepwell.core.steps import RunHead
from stepwell.store import reading
from tests.benchmarks.listing import MAKE_RUNS

pytestmark = pytest.mark.long

PLAIN = """
SELECT run_id FROM agent_runs
WHERE (name ILIKE '%%' || %(text)s || '%%' OR run_id::text ILIKE %(text)s || '%%')
  AND (NOT %(failed)s OR status = 'failed') AND (%(after)s::timestamptz IS NULL OR started_at < %(after)s)
ORDER BY started_at DESC, run_id DESC LIMIT 50
"""


def test_pages_of_a_million_runs_are_those_of_a_plain_query(schema_dsn: str) -> None:
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute(MAKE_RUNS, [1_000_000])
        connection.execute("ANALYZE agent_runs")
        far = connection.execute(
            "SELECT run_id, started_at FROM agent_runs ORDER BY started_at OFFSET 60000 LIMIT 1"
        ).fetchone()
        assert far is not None
        found = 0
        for after in (None, RunHead(far[0], "ok", started=far[1])):
            for text in ("", "agent 77", "AGENT 777", "7f", "7f3a", str(far[0]), "nothing like it", "%"):
                for failed in (False, True):
                    runs = reading.list_runs(connection, limit=50, after=after, text=text, failed=failed)
                    parameters: dict[str, object] = {"text": text.replace("%", "\\%"), "failed": failed}
                    parameters["after"] = after.started if after else None
                    expected = connection.execute(PLAIN, parameters).fetchall()
                    assert [run.run_id for run in runs] == [row[0] for row in expected], (text, failed)
                    found += len(runs)
        assert found > 500
        assert reading.count_runs(connection) is not None
