"""The SQL files: found in the installed package or, from a checkout, beside it."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def sql_folder() -> Traversable:
    """`stepwell/sql` where the wheel was installed, the checkout's `sql` in an editable install."""
    packaged = files("stepwell") / "sql"
    if packaged.is_dir():
        return packaged
    return Path(__file__).parents[3] / "sql"


@cache
def query(name: str) -> bytes:
    """The one statement of `sql/queries/NAME.sql`. Raises FileNotFoundError for a name that is not there."""
    return (sql_folder() / "queries" / f"{name}.sql").read_bytes()


def query_names() -> list[str]:
    folder = sql_folder() / "queries"
    return sorted(file.name.removesuffix(".sql") for file in folder.iterdir() if file.name.endswith(".sql"))


def schema_files() -> list[tuple[int, bytes]]:
    """Version and text of each migration, oldest first."""
    folder = sql_folder() / "schema"
    named = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(int(name.split("_")[0]), file.read_bytes()) for name, file in named]
