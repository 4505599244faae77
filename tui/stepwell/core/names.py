"""Names of tables as they are to be typed: in SQL, and in a command for a shell."""

import re
import shlex

_PLAIN = re.compile("[a-z_][a-z0-9_]*")


def sql_name(schema: str, name: str) -> str:
    """`shop."Odd Name"`: with quotes where SQL needs them."""
    return f"{quoted(schema)}.{quoted(name)}"


def command_name(schema: str, name: str) -> str:
    """`'shop."Odd Name"'`: as an argument of a command, `stepwell watch` say, in a shell."""
    return shlex.quote(sql_name(schema, name))


def quoted(name: str) -> str:
    """`shop`, `"Odd Name"`"""
    return name if _PLAIN.fullmatch(name) else '"{}"'.format(name.replace('"', '""'))
