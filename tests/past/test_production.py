"""A debugger that steps and asks without pause does no harm to a production whose tables are watched."""

from pathlib import Path

import pytest

from tests.past.production import Day, Watcher, debugging, set_up, work_day
from tests.pooler import pooler

UNTOUCHED = ('"$user", public', True, "", "off", "off", "read committed", 0, 0)


def live(dsn: str, folder: Path, seconds: int) -> tuple[Day, Watcher]:
    run = set_up(dsn)
    with pooler(dsn, folder, size=6) as pooled, debugging(dsn, pooled, run) as seen:
        return work_day(dsn, pooled, seconds), seen


def assert_harmless(day: Day, seen: Watcher) -> None:
    assert day.faults == []
    assert day.failed == 0
    assert day.found == {UNTOUCHED}
    assert seen.other == []
    assert all("is locked by shop" in why for why in seen.refused)
    assert min(work.done for work in day.work.values()) > 0
    assert min(seen.moves, seen.answers) > 0


def test_nobody_fails_or_finds_a_trace_beside_a_debugger_in_the_same_pool(
    schema_dsn: str, short_folder: Path
) -> None:
    day, seen = live(schema_dsn, short_folder, 2)
    assert_harmless(day, seen)


@pytest.mark.long
def test_nobody_fails_in_a_longer_time(schema_dsn: str, short_folder: Path) -> None:
    assert_harmless(*live(schema_dsn, short_folder, 30))
