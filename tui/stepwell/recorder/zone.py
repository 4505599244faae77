"""Which local time a process has, in words that `TZ` of another process takes."""

import os

LOCAL = "/etc/localtime"
"""The rules of local time where `TZ` says nothing of them, as a link to a zone that has a name or as a file."""


def local_zone() -> str | None:
    """`Europe/Zurich`, or `CET-1CEST,M3.5.0,M10.5.0/3` for rules without a name; None where it cannot be known."""
    given = os.environ.get("TZ")
    if given is None:
        return _of_the_system(LOCAL)
    return given if given.isprintable() else None


def _of_the_system(path: str) -> str | None:
    _, named, name = os.path.realpath(path).rpartition("zoneinfo/")
    if named:
        return name
    try:
        with open(path, "rb") as file:
            rules = file.read()
    except FileNotFoundError:
        return "UTC0"
    except OSError:
        return None
    # RFC 9636, 3.3: from version 2 on the file ends with a line of the rules as POSIX writes them.
    footer = rules.rstrip(b"\n").rpartition(b"\n")[2].decode(errors="replace")
    return footer if rules.startswith(b"TZif") and footer.isascii() and footer.isprintable() else None
