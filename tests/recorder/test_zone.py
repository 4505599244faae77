"""The local time of the process is recorded with a run."""

from pathlib import Path
from typing import Any

import pytest

from stepwell import Recorder
from stepwell.recorder import zone
from stepwell.recorder.zone import local_zone

RULES = "CET-1CEST,M3.5.0,M10.5.0/3"


def file_of_rules(*lines: str) -> bytes:
    """As version 2 of the format ends, of which the tables do not matter here."""
    return b"TZif2" + bytes(range(64)) + "".join(f"\n{line}" for line in lines).encode() + b"\n"


@pytest.mark.parametrize("given", ["Asia/Tokyo", ":Asia/Tokyo", RULES, "<+0530>-5:30", ""])
def test_it_is_what_the_environment_says(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TZ", given)
    assert local_zone() == given


def test_what_no_column_takes_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "\udcff")
    assert local_zone() is None


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("Europe/Zurich", "Europe/Zurich"),
        (file_of_rules(RULES), RULES),
        (b"something else\n", None),
        (b"TZif" + bytes(40) + b"UTC\0", None),
        (None, "UTC0"),
    ],
    ids=["a link to a zone", "a file", "no such file", "a file without rules", "nothing"],
)
def test_without_that_it_is_what_the_system_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made: str | bytes | None, expected: str | None
) -> None:
    local = tmp_path / "localtime"
    if isinstance(made, str):
        there = tmp_path / "share" / "zoneinfo" / made
        there.parent.mkdir(parents=True)
        there.write_bytes(file_of_rules(RULES))
        local.symlink_to(there)
    elif made is not None:
        local.write_bytes(made)
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr(zone, "LOCAL", str(local))
    assert local_zone() == expected


def test_it_stands_with_the_run(recorder: Recorder, run_row: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    with recorder.run() as run:
        pass
    assert run_row(run.run_id)["zone"] == "Asia/Tokyo"
