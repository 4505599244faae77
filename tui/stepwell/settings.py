"""Every folder that Stepwell reads or writes, in one place.

Nothing here touches the disk or keeps state: folders come from an environment that is passed in.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT_SERVER_HOME = Path("/var/lib/stepwell")
"""Where root keeps the embedded Postgres: the service user that runs it cannot look into root's home."""


@dataclass(frozen=True)
class Paths:
    """Stepwell's own folders (XDG base directories); any of them may not exist yet."""

    data: Path
    """What a user would miss: imported and spooled runs."""
    config: Path
    """What a user writes: key bindings, redaction patterns."""
    state: Path
    """What survives a session: breakpoints, bookmarks, positions."""
    runtime: Path | None
    """What lives as long as the login, or None where the system has no such folder."""
    server: Path
    """The embedded Postgres and its locks; `STEPWELL_HOME` moves it."""


def paths(env: Mapping[str, str] | None = None, *, root: bool | None = None) -> Paths:
    """The folders as `env` (the process environment by default) has them.

    `root` says whether the process runs as root; by default that is asked of the system.
    """
    env = os.environ if env is None else env
    if root is None:
        root = hasattr(os, "geteuid") and os.geteuid() == 0
    home = Path(env.get("HOME") or os.path.expanduser("~"))
    data = (_absolute(env, "XDG_DATA_HOME") or home / ".local/share") / "stepwell"
    runtime = _absolute(env, "XDG_RUNTIME_DIR")
    return Paths(
        data=data,
        config=(_absolute(env, "XDG_CONFIG_HOME") or home / ".config") / "stepwell",
        state=(_absolute(env, "XDG_STATE_HOME") or home / ".local/state") / "stepwell",
        runtime=runtime / "stepwell" if runtime else None,
        server=_absolute(env, "STEPWELL_HOME") or (ROOT_SERVER_HOME if root else data),
    )


_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python itself puts into LC_CTYPE, whatever was there, where the system does not have the language."""


def language_encoding(env: Mapping[str, str], *, utf8_mode: bool | None = None) -> str | None:
    """ "ascii" where the language of the environment is none in UTF-8, else None: as Python has it.

    Python takes the language C for UTF-8, since mostly the terminal is; who sets it says that it is not.
    `utf8_mode` is by default that of this process.
    """
    if env.get("PYTHONIOENCODING") or env.get("PYTHONUTF8"):
        return None
    own = sys.flags.utf8_mode if utf8_mode is None else utf8_mode
    known = {**env, "LC_CTYPE": ""} if own and env.get("LC_CTYPE") in _COERCED else env
    language = next((known[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if known.get(name)), "")
    return "ascii" if language and not re.search("utf-?8", language, re.IGNORECASE) else None


def _absolute(env: Mapping[str, str], name: str) -> Path | None:
    """The folder in `env`, or None: the XDG specification has relative paths ignored."""
    value = env.get(name, "")
    return Path(value) if os.path.isabs(value) else None
