"""Copying to the clipboard of the terminal that one sits at, over SSH and through tmux or screen as well.

A terminal takes it as the escape sequence OSC 52, and none answers whether it did. What is known not to work
goes to a file instead.
"""

import base64
import contextlib
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from textual.app import App

from stepwell.app.present import count
from stepwell.settings import paths

MOST_BASE64 = 74_994
"""Bytes of base64 that common terminals still take; past that some take nothing, some a part."""
SCREEN_PIECE = 250
"""GNU screen drops longer strings, and puts together what comes in pieces."""
DEAF = ("", "dumb", "linux", "cons25", "sun", "vt")
"""Beginnings of TERM of terminals without a clipboard."""
TOO_LARGE = "too large for the clipboard"
DEAF_WORDS = "the terminal has no clipboard"
FILE = "copied.txt"
PATH_CELLS = 38
"""Of a path in the status line, which at 80 columns has to hold the reason as well."""


def copy_from(app: App[Any], text: str) -> str:
    """Copy on behalf of a running app; words for its status line."""
    return copy(text, os.environ, terminal_writer(app), paths().state)


def copy_shown(app: App[Any], text: str) -> str:
    """Copy a short text that the words end with: where there is no clipboard, the mouse can mark it there."""
    words = DEAF_WORDS if _deaf(os.environ) else copy_from(app, text)
    return f"{words}: {text}"


def terminal_writer(app: App[Any]) -> Callable[[str], None]:
    """Writes to the terminal in between two paints.

    Textual has no public way for that: its own `copy_to_clipboard` knows neither tmux nor a limit, and a
    write to `sys.__stdout__` could land inside of a sequence that the driver's thread is writing.
    """

    def write(text: str) -> None:
        driver = app._driver
        if driver is not None:
            driver.write(text)
            driver.flush()

    return write


def copy(
    text: str,
    env: Mapping[str, str],
    write: Callable[[str], None],
    folder: Path,
    load: Callable[[bytes], bool] | None = None,
) -> str:
    """Copy `text` as it is, and say in a few words what became of it. Never raises.

    `write` writes to the terminal, `folder` takes the file where that cannot work, `load` is how tmux gets
    it (by default by its own command).
    """
    data = text.encode("utf-8", "backslashreplace")
    encoded = base64.b64encode(data).decode("ascii")
    if _deaf(env):
        return _to_file([data], folder, env, f"{DEAF_WORDS}: written")
    if len(encoded) > MOST_BASE64:
        return _to_file([data], folder, env, f"{TOO_LARGE}: written")
    if not (env.get("TMUX") and (load or _load_buffer)(data)):
        for sequence in sequences(encoded, env):
            write(sequence)
    return f"copied {count(len(text))} character{'' if len(text) == 1 else 's'}"


def copy_to_file(
    pieces: Iterable[str],
    env: Mapping[str, str],
    folder: Path,
    is_cancelled: Callable[[], bool],
    *,
    stored: bool,
) -> str:
    """Write what no clipboard takes, a piece at a time, and say so. Never raises.

    `stored`: it is the text that the database holds, not taken apart.
    """
    cancelled = False

    def data() -> Iterable[bytes]:
        nonlocal cancelled
        for piece in pieces:
            if cancelled := is_cancelled():
                return
            yield piece.encode("utf-8", "backslashreplace")

    words = _to_file(
        data(), folder, env, "too large to copy: written as stored" if stored else f"{TOO_LARGE}: written"
    )
    if cancelled:
        with contextlib.suppress(OSError):
            (folder / FILE).unlink()
        return "cancelled: nothing is copied"
    return words


def sequences(encoded: str, env: Mapping[str, str]) -> list[str]:
    """What to write so that a terminal, or the multiplexer before it, takes the base64 text."""
    plain = f"\x1b]52;c;{encoded}\x07"
    term = env.get("TERM", "")
    if env.get("TMUX") or term.startswith("tmux"):
        # The first for `set-clipboard on`, the second for `allow-passthrough on` and old versions of tmux.
        return [plain, f"\x1bPtmux;\x1b{plain}\x1b\\"]
    if term.startswith("screen") or env.get("STY"):
        pieces = [plain[at : at + SCREEN_PIECE] for at in range(0, len(plain), SCREEN_PIECE)]
        wrapped = "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
        # TERM says screen in a tmux at the other end of an SSH connection too; screen ignores a short one.
        return [wrapped, plain] if len(plain) <= SCREEN_PIECE and not env.get("STY") else [wrapped]
    return [plain]


def _deaf(env: Mapping[str, str]) -> bool:
    term = env.get("TERM", "")
    return not term or any(term.startswith(name) for name in DEAF if name)


def _load_buffer(data: bytes) -> bool:
    """Through tmux itself (3.2 on): its default settings ignore OSC 52 from what runs inside."""
    try:
        command = ["tmux", "load-buffer", "-w", "-"]
        return subprocess.run(command, input=data, capture_output=True, timeout=1).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _to_file(data: Iterable[bytes], folder: Path, env: Mapping[str, str], words: str) -> str:
    path = folder / FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()  # whatever is there, a link to elsewhere too
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(data)
    except OSError as problem:
        return f"{words.partition(':')[0]}, and {path} cannot be written: {problem.strerror}"
    return f"{words} to {_short(path, env)}"


def _short(path: Path, env: Mapping[str, str]) -> str:
    """With `~`, and without its middle where it is long: the file's name is what it is found by."""
    home = env.get("HOME")
    text = f"~/{path.relative_to(home)}" if home and path.is_relative_to(home) else str(path)
    if len(text) <= PATH_CELLS:
        return text
    end = f"…/{path.parent.name}/{path.name}"
    return text[: max(2, PATH_CELLS - len(end))] + end
