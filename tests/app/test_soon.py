"""What is to be done in a moment is done, however late its time is looked at."""

import asyncio
from itertools import count
from typing import Any

import pytest
from textual import _time
from textual.app import App

from stepwell.app.soon import soon


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 0.001])
def test_it_is_done_also_where_its_time_is_over_before_anybody_looks(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the processor is taken away between two looks at the clock."""
    times = count(10**9)
    done = asyncio.Event()

    async def drive() -> None:
        app: App[Any] = App()
        async with app.run_test():
            with monkeypatch.context() as late:
                late.setattr(_time, "get_time", lambda: float(next(times)))
                soon(app, seconds, done.set)
                async with asyncio.timeout(10):
                    await done.wait()

    asyncio.run(drive())
    assert done.is_set()
