"""What is the user's own code, and what a library's."""

from pathlib import Path

import pytest

from stepwell.rerun import places


def test_a_library_behind_a_symbolic_link_is_one_by_either_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setattr(places, "OWN", f"{tmp_path / 'link'}/")
    found = places.libraries.__wrapped__()
    assert {f"{tmp_path / 'link'}/", f"{tmp_path / 'real'}/"} <= {*found}
    assert not any(places.Places(found).is_users(f"{tmp_path}/{name}/clock.py") for name in ("link", "real"))
