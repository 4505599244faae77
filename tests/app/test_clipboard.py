"""Copying says what became of it, and never claims what cannot work."""

import base64
import stat
from pathlib import Path

import pytest

from stepwell.app.clipboard import MOST_BASE64, copy, copy_to_file, sequences

XTERM = {"TERM": "xterm-256color"}


def copied(text: str, env: dict[str, str], folder: Path, *, tmux: bool = False) -> tuple[str, list[str]]:
    """The words, and what was written to the terminal; `tmux` is whether its own command works."""
    written: list[str] = []
    return copy(text, env, written.append, folder, lambda _: tmux), written


def carried(sequence: str) -> str:
    """The text that a plain sequence puts into the clipboard."""
    assert sequence.startswith("\x1b]52;c;")
    assert sequence.endswith("\x07")
    return base64.b64decode(sequence[7:-1]).decode()


def test_a_terminal_gets_the_exact_text_and_nothing_raw(tmp_path: Path) -> None:
    text = "\x1b[31mno\x07\x00 ümlaut\n"
    words, written = copied(text, XTERM, tmp_path)
    assert words == f"copied {len(text)} characters"
    assert [carried(sequence) for sequence in written] == [text]


def test_one_character_and_many_are_told_apart(tmp_path: Path) -> None:
    assert copied("x", XTERM, tmp_path)[0] == "copied 1 character"
    assert copied("x" * 1234, XTERM, tmp_path)[0] == "copied 1,234 characters"


def test_a_lone_surrogate_is_spelled_out(tmp_path: Path) -> None:
    assert carried(copied("\ud800", XTERM, tmp_path)[1][0]) == r"\ud800"


def test_tmux_takes_it_by_its_own_command_where_it_can(tmp_path: Path) -> None:
    env = {"TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"}
    assert copied("7f3a:17", env, tmp_path, tmux=True) == ("copied 7 characters", [])


def test_without_it_tmux_gets_the_plain_and_the_wrapped_form(tmp_path: Path) -> None:
    env = {"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}
    _, (plain, wrapped) = copied("7f3a:17", env, tmp_path)
    assert carried(plain) == "7f3a:17"
    assert wrapped == f"\x1bPtmux;\x1b{plain}\x1b\\"


def test_a_tmux_at_the_other_end_of_a_connection_is_known_by_term() -> None:
    assert len(sequences("eA==", {"TERM": "tmux-256color"})) == 2


def test_screen_gets_pieces_that_it_does_not_drop() -> None:
    (wrapped,) = sequences("a" * 4000, {"TERM": "screen.xterm-256color", "STY": "1.pts-0"})
    pieces = wrapped.removesuffix("\x1b\\").removeprefix("\x1bP").split("\x1b\\\x1bP")
    assert "".join(pieces) == f"\x1b]52;c;{'a' * 4000}\x07"
    assert max(map(len, pieces)) <= 250


def test_too_much_for_a_terminal_goes_to_a_file_of_the_users_own(tmp_path: Path) -> None:
    folder = tmp_path / ".local/state/stepwell"
    text = "x" * MOST_BASE64
    words, written = copied(text, XTERM | {"HOME": str(tmp_path)}, folder)
    assert words == "too large for the clipboard: written to ~/.local/state/stepwell/copied.txt"
    assert written == []
    assert (folder / "copied.txt").read_text() == text
    assert stat.S_IMODE((folder / "copied.txt").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("term", ["linux", "dumb", "vt220", ""])
def test_a_terminal_without_a_clipboard_is_known(term: str, tmp_path: Path) -> None:
    words, written = copied("7f3a:17", {"TERM": term, "HOME": str(tmp_path)}, tmp_path)
    assert words == "the terminal has no clipboard: written to ~/copied.txt"
    assert written == []


@pytest.mark.parametrize("size", [1, MOST_BASE64])
def test_the_name_of_the_file_is_seen_at_80_columns_wherever_it_is(size: int, tmp_path: Path) -> None:
    """A long path loses its middle."""
    folder = tmp_path / ("deep" * 20) / "stepwell"
    words, _ = copied("x" * size, {"TERM": "linux"} if size == 1 else XTERM, folder)
    assert words.endswith("…/stepwell/copied.txt")
    assert len(words) <= 80


def test_a_file_of_before_is_replaced_and_a_link_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "copied.txt").symlink_to(precious)
    copied("new", {"TERM": "linux"}, tmp_path)
    assert (tmp_path / "copied.txt").read_text() == "new"
    assert precious.read_text() == "precious"


def test_where_no_file_can_be_written_the_words_say_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words, _ = copied("x", {"TERM": "linux"}, tmp_path / "file")
    assert words == (
        f"the terminal has no clipboard, and {tmp_path}/file/copied.txt cannot be written: File exists"
    )


def test_a_copy_into_a_file_can_be_cancelled_and_leaves_none(tmp_path: Path) -> None:
    folder, looks = tmp_path / "state", iter([False, False, True])
    words = copy_to_file(iter("abcdef"), XTERM, folder, lambda: next(looks), stored=True)
    assert words == "cancelled: nothing is copied"
    assert not (folder / "copied.txt").exists()
