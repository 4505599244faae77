"""Databases that tests of the screens read and never change."""

from collections.abc import Iterator

import pytest

from tests.app import recorded, watched
from tests.conftest import create_database, drop_database


@pytest.fixture(scope="session")
def recorded_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database that holds finished runs of every kind: only to be read."""
    conninfo = create_database(server, schema_template)
    for fill in (
        recorded.looping,
        recorded.died,
        recorded.swarm,
        recorded.hostile,
        recorded.empty,
        recorded.big,
        recorded.bare,
    ):
        fill(conninfo)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture(scope="session")
def watched_dsn(server: str, schema_template: str) -> Iterator[str]:
    """Conninfo of a database with a run during which tables were watched: only to be read."""
    conninfo = create_database(server, schema_template)
    watched.fill(conninfo)
    yield conninfo
    drop_database(server, conninfo)
