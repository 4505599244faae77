"""A text in the user's own editor, while the app stands aside."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from stepwell.app.pager import attended
from stepwell.app.present import clean
from stepwell.errors import UsageError

DEFAULTS = ("vi", "nano")


def edited(app: App[Any], text: str, name: str, env: Mapping[str, str]) -> str:
    """The text as `$VISUAL` or `$EDITOR` leaves it. `name` begins that of the file. Raises UsageError, one line."""
    command = editor_command(env)
    folder = Path(tempfile.mkdtemp(prefix="stepwell-"))
    file = folder / f"{name}.json"
    try:
        file.write_text(text, encoding="utf-8")
        with app.suspend():
            words = _run([*command, str(file)], env)
        if words:
            raise UsageError(words)
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except SuspendNotSupported:
        raise UsageError("no editor here: this terminal cannot be handed over") from None
    except OSError as problem:
        raise UsageError(f"{clean(command[0])}: {problem.strerror}; nothing is edited") from problem
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def editor_command(env: Mapping[str, str]) -> list[str]:
    """The words of the command to run. Raises UsageError, one line, where there is none."""
    wanted = env.get("VISUAL", "").strip() or env.get("EDITOR", "").strip()
    if not wanted:
        wanted = next((name for name in DEFAULTS if shutil.which(name, path=env.get("PATH"))), DEFAULTS[0])
    try:
        command = shlex.split(wanted)
    except ValueError as problem:
        raise UsageError(f"EDITOR cannot be read: {problem}") from None
    if not command or shutil.which(command[0], path=env.get("PATH")) is None:
        raise UsageError(f"no editor {clean(command[0] if command else wanted)}: set EDITOR; e edits here")
    return command


def _run(command: list[str], env: Mapping[str, str]) -> str:
    """Run it on the terminal; what is wrong with how it ended."""
    with attended() as wait:
        process = subprocess.Popen(command, env=dict(env), cwd=os.getcwd())
        status = wait(process)
    ended = f"ended with status {status}" if status > 0 else f"was ended by signal {-status}"
    return f"{clean(command[0])} {ended}: nothing is edited" if status else ""
