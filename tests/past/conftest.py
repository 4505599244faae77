"""A recorded run, its tables' owner, and a debugger of it."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from tests.past.recorded import Recorded, record


@pytest.fixture
def recorded(schema_dsn: str) -> Recorded:
    return record(schema_dsn)


@pytest.fixture
def owner(schema_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def replayer(schema_dsn: str, recorded: Recorded) -> Iterator[Replayer]:
    with closing(Replayer(resolve(schema_dsn), recorded.run)) as replayer:
        yield replayer
