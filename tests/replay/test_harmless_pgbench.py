"""pgbench beside a debugger that steps without pause, as the benchmark `harmless` measures it."""

import pytest

from tests.benchmarks.harmless import beside_writers


@pytest.mark.long
def test_no_transaction_of_pgbench_fails_or_waits_beside_a_debugger(schema_dsn: str) -> None:
    table = beside_writers(schema_dsn, quick=True)
    for row in table.rows:
        told = dict(zip(table.columns, row, strict=True))
        assert (told["failed alone"], told["failed beside"]) == ("0", "0")
        assert (told["blocked by us"], told["open between moves"]) == ("0", "0")
        assert int(told["moves"].replace(",", "")) > 10
