"""The connection of a replay is set as the agent's own was."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any

from psycopg import AsyncConnection, Connection

from stepwell.recorder.manner import FACTORIES

OVER = (
    "run.connection was a {}: in a replay it is one of psycopg's, over which the agent may make its own, as the README"
    " says of SQLAlchemy"
)


def set_alike(connection: Any, given: object, recorded: str | None, note: Callable[[str], None]) -> None:
    """Like `given`, where that is one of psycopg's, else as it was recorded.

    `note` is told of what is not to be found.
    """
    if isinstance(given, Connection | AsyncConnection):
        found = {name: getattr(given, name) for name in ("autocommit", *FACTORIES)}
    else:
        found = {} if recorded is None else json.loads(recorded)
        if given is None and found.get("over"):
            note(OVER.format(found["over"].replace(":", ".")))
    connection._autocommit = bool(found.get("autocommit"))
    for name in FACTORIES:
        factory = found.get(name)
        try:
            if factory is not None:
                setattr(connection, name, _at(factory) if isinstance(factory, str) else factory)
        except (ImportError, AttributeError):
            note(
                f"the agent's connection had {factory} as its {name}, which is not to be found: set it in the agent"
            )


def _at(place: str) -> object:
    """What is called `module:name`. Raises ImportError, AttributeError."""
    module, _, name = place.partition(":")
    return reduce(getattr, name.split("."), sys.modules.get(module) or import_module(module))
