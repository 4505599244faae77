"""Files of the user's own that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace what `path` holds, for the user's eyes only; its folder is made. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    finally:  # whatever happens, no half of a file stays; a whole one has its other name by now
        Path(name).unlink(missing_ok=True)
