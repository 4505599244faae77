"""What is remembered between sessions, and what happens to a file that somebody else has touched."""

import json
import stat
from pathlib import Path
from uuid import UUID

import pytest

from stepwell.app.memory import MOST, Memory
from stepwell.core.breakpoints import Breakpoint, OnError, OnLap, OnName
from stepwell.core.steps import RunHead
from stepwell.errors import StepwellError

POINTS = (Breakpoint(OnName("search orders")), Breakpoint(OnError(), enabled=False), Breakpoint(OnLap(3)))


def head(number: int, name: str | None = "refund-triage") -> RunHead:
    return RunHead(UUID(int=number), "ok", name)


def test_breakpoints_come_back_in_every_run_of_the_name_and_bookmarks_in_their_run(tmp_path: Path) -> None:
    Memory(tmp_path / "state").remember(head(1), POINTS, {"a": 17})
    memory = Memory(tmp_path / "state")
    assert (memory.recall(head(1)).breakpoints, memory.recall(head(1)).bookmarks) == (POINTS, {"a": 17})
    assert (memory.recall(head(2)).breakpoints, memory.recall(head(2)).bookmarks) == (POINTS, {})
    assert memory.recall(head(3, "other")).breakpoints == ()


def test_runs_without_a_name_share_theirs(tmp_path: Path) -> None:
    Memory(tmp_path).remember(head(1, None), POINTS, {})
    assert Memory(tmp_path).recall(head(2, None)).breakpoints == POINTS


def test_names_of_any_content_are_kept(tmp_path: Path) -> None:
    hostile = head(1, "\x1b[31m\ud800\x00[/b]")
    Memory(tmp_path).remember(hostile, POINTS, {})
    assert Memory(tmp_path).recall(hostile).breakpoints == POINTS


def test_nothing_remembered_is_nothing_wrong(tmp_path: Path) -> None:
    recalled = Memory(tmp_path / "none").recall(head(1))
    assert (recalled.breakpoints, recalled.bookmarks, recalled.words) == ((), {}, "")


def test_two_sessions_keep_what_the_other_has_written(tmp_path: Path) -> None:
    one, other = Memory(tmp_path), Memory(tmp_path)
    one.remember(head(1, "one"), POINTS, {})
    other.remember(head(2, "other"), POINTS[:1], {})
    assert one.recall(head(1, "one")).breakpoints == POINTS
    assert one.recall(head(2, "other")).breakpoints == POINTS[:1]


def test_the_file_is_for_its_user_alone_and_none_is_left_beside_it(tmp_path: Path) -> None:
    Memory(tmp_path / "state").remember(head(1), POINTS, {})
    (file,) = (tmp_path / "state").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_runs_used_longest_ago_are_forgotten(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    kept = {str(UUID(int=number)): {"a": number} for number in range(1, MOST + 1)}
    memory.path.write_text(json.dumps({"bookmarks": kept}))
    memory.remember(head(1), (), {"a": 1})
    memory.remember(head(MOST + 1), (), {"a": 9})
    assert memory.recall(head(1)).bookmarks == {"a": 1}
    assert memory.recall(head(2)).bookmarks == {}
    assert memory.recall(head(MOST + 1)).bookmarks == {"a": 9}


def test_what_was_cleared_is_not_kept(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.remember(head(1), POINTS, {"a": 1})
    memory.remember(head(1), (), {})
    assert json.loads(memory.path.read_text()) == {"version": 1, "breakpoints": {}, "bookmarks": {}}


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"breakpoints": 3}', b"\xff\xfe", b""])
def test_a_broken_file_is_told_of_and_set_aside_when_something_is_kept(
    content: bytes, tmp_path: Path
) -> None:
    memory = Memory(tmp_path)
    memory.path.write_bytes(content)
    words = memory.recall(head(1)).words
    assert words == f"breakpoints are not remembered: {memory.path}: it is broken, and will be set aside"
    memory.remember(head(1), POINTS, {})
    assert memory.recall(head(1)).breakpoints == POINTS
    assert memory.path.with_suffix(".broken").read_bytes() == content


def test_entries_of_another_kind_are_left_out(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    run = str(head(1).run_id)
    kept = {"refund-triage": ["error", "cosmic:ray", 7, "error"]}
    memory.path.write_text(
        json.dumps({"breakpoints": kept, "bookmarks": {run: {"a": 3, "b": "x", "long": 1}}})
    )
    recalled = memory.recall(head(1))
    assert recalled.breakpoints == (Breakpoint(OnError()),)
    assert recalled.bookmarks == {"a": 3}


def test_a_folder_that_cannot_be_written_is_told_of_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    memory = Memory(tmp_path / "file")
    assert "Not a directory" in memory.recall(head(1)).words
    with pytest.raises(StepwellError, match=r"^kept for this session only: .*memory\.json cannot be"):
        memory.remember(head(1), POINTS, {})
