"""The demo, recorded once for all tests that only read it."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from stepwell.core.steps import RunHead
from stepwell.demo.record import record_demo
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from tests.conftest import create_database, drop_database


@pytest.fixture(scope="session")
def demo_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database that holds the demo's five runs."""
    conninfo = create_database(server, schema_template)
    record_demo(resolve(conninfo), progress=lambda _: None)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture
def replayer(demo_dsn: str, head: RunHead) -> Iterator[Replayer]:
    """Of the run that the test's own file calls `head`."""
    with closing(Replayer(resolve(demo_dsn), head.run_id)) as replayer:
        yield replayer
