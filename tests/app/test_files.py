"""Files of the user's own: whole or not at all."""

from pathlib import Path

import pytest

from stepwell.app.files import write_whole


def test_a_file_is_replaced_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "memory.json"
    write_whole(path, "old")
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert [path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777] == [0o600, 0o700]


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "memory.json"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half a \ud800 pair")
    assert [file.name for file in path.parent.iterdir()] == ["memory.json"]
    assert path.read_text() == "old"
