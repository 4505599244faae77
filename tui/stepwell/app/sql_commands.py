"""What a line that begins with a backslash means where SQL is typed. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stepwell.core.past import Table
from stepwell.core.statements import is_complete
from stepwell.errors import UsageError

COMMANDS = {
    r"\d": "the watched tables, and how far their rows can be trusted",
    r"\d TABLE": "the columns of a watched table",
    r"\more": "the same again, with ten times as many rows",
    r"\?": "all keys",
    r"\q": "back to the run",
}
"""Each and what it does, for the help screen."""


@dataclass(frozen=True, slots=True)
class Meta:
    """A command; `argument` is empty where it has none."""

    name: Literal["d", "more", "?", "q"]
    argument: str = ""


def runs(text: str) -> bool:
    """Whether Enter runs a text: a single line, or what is complete."""
    return "\n" not in text.strip() or is_complete(text)


def parse_meta(text: str) -> Meta | None:
    """The command of a text, None for SQL. Raises UsageError, one line that names what there is."""
    if not text.lstrip().startswith("\\"):
        return None
    word, _, argument = text.strip().rstrip(";").partition(" ")
    argument = argument.strip()
    match word[1:]:
        case "d" | "dt" | "d+":
            return Meta("d", argument)
        case "more" | "?" | "q" as name if not argument:
            return Meta(name)
        case _:
            raise UsageError(
                f"no command {word[:20]}{' ' * bool(argument)}{argument[:20]}: {', '.join(COMMANDS)}"
            )


def table_named(tables: Sequence[Table], name: str) -> Table:
    """The watched table of a name, with its schema or without. Raises UsageError for none, and for several."""
    wanted = name.replace('"', "")
    found = [table for table in tables if wanted in (table.name, f"{table.schema}.{table.name}")]
    if not found:
        raise UsageError(rf"{name[:60]} is not watched: \d lists what is")
    if len(found) > 1:
        raise UsageError(
            f"{name[:60]} is in {' and '.join(table.schema for table in found)}: name the schema too"
        )
    return found[0]
