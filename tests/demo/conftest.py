"""The demo, recorded once for all tests that only read it."""

from collections.abc import Iterator

import pytest

from stepwell.demo.record import record_demo
from stepwell.store.connect import resolve
from tests.conftest import create_database, drop_database


@pytest.fixture(scope="session")
def demo_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database that holds the demo's five runs."""
    conninfo = create_database(server, schema_template)
    record_demo(resolve(conninfo), progress=lambda _: None)
    yield conninfo
    drop_database(server, conninfo)
