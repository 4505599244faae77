"""A shop, and a debugger of its run."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from tests.replay.rows import RUN
from tests.replay.shop import shop

__all__ = ["replayer", "shop"]


@pytest.fixture
def replayer(shop: str) -> Iterator[Replayer]:
    with closing(Replayer(resolve(shop), RUN)) as replayer:
        yield replayer
