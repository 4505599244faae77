"""The keys of a screen in words, in one column or two. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from textual.binding import Binding
from textual.keys import key_to_character

from stepwell.app.present import Line, Role, Span, fit, wrap

GROUPS = {
    "Move": ("move", "open", "select"),
    "Stop and find": ("choose", "breakpoints", "hit", "prompt", "failed", "clear", "follow"),
    "Type": ("run", "new_line", "up", "down", "delete_or_leave"),
    "Look": (
        "pane",
        "scroll",
        "row",
        "switch",
        "difference",
        "layout",
        "sql",
        "browse",
        "help",
        "redraw",
    ),
    "Take along": ("copy", "pager"),
    "Change": ("enable", "delete", "add"),
    "What if": ("divergence", "edit", "undo_edit", "save", "done", "outside", "give_up"),
    "Leave": ("cancel", "app.suspend_process", "close"),
}
"""Headings, and the names of the actions under each."""
NAMES = {
    "pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc", "slash": "/", "delete": "Del",
}  # fmt: skip
NO_SIGNS: Mapping[str, Mapping[str, str]] = {}
TWO_COLUMNS = 110
_KEYS, _DESCRIPTION, _LEAST_MORE = 17, 24, 30


class Entry(NamedTuple):
    """One binding: all its keys, as they are typed."""

    keys: str
    description: str
    more: str
    group: str = ""


def key_name(key: str) -> str:
    """`]` of `right_square_bracket`, `Ctrl-C` of `ctrl+c`, `PgDn`, `Space`."""
    *modifiers, last = key.split("+")
    character = key_to_character(last)
    if last in NAMES:
        name = NAMES[last]
    elif character and character.isprintable() and character != " ":
        name = character.upper() if modifiers else character
    else:
        name = last.capitalize()
    return "-".join([*(modifier.capitalize() for modifier in modifiers), name])


def entries(bindings: Iterable[Binding], remapped: Mapping[str, Sequence[str]] | None = None) -> list[Entry]:
    """In the order of the bindings. `remapped` holds the keys of an id where the user has changed them."""
    found = []
    for binding in bindings:
        keys = (remapped or {}).get(binding.id or "", binding.key.split(","))
        found.append(
            Entry(
                " ".join(key_name(key) for key in keys),
                binding.description,
                binding.tooltip,
                _group(binding.action),
            )
        )
    return found


def _group(action: str) -> str:
    name = action.partition("(")[0]
    return next((heading for heading, names in GROUPS.items() if name in names), "More")


def help_lines(
    found: Sequence[Entry],
    commands: Mapping[str, str],
    width: int,
    signs: Mapping[str, Mapping[str, str]] = NO_SIGNS,
) -> list[Line]:
    """Everything, at most `width` cells wide; side by side where there is room. `signs` stand by heading."""
    columns = 2 if width >= TWO_COLUMNS else 1
    room = (width - 2) // columns if columns == 2 else width
    sections = [
        _section(heading, [entry for entry in found if entry.group == heading], room)
        for heading in (*GROUPS, "More")
    ]
    typed = [Entry(f":{name}", "", text) for name, text in commands.items()]
    legend = [
        _section(heading, [Entry(sign, "", text) for sign, text in of.items()], room)
        for heading, of in signs.items()
    ]
    sections = [section for section in (*sections, _section("Commands", typed, room), *legend) if section]
    if columns == 1:
        return [line for section in sections for line in section]
    return _beside(sections, room)


def line_of(lines: Sequence[Line], heading: str) -> int:
    """The line, from 0, on which the section of this heading begins; 0 where there is none."""
    found = (
        number
        for number, line in enumerate(lines)
        if any(span.role is Role.HEADING and span.text.strip() == heading for span in line)
    )
    return next(found, 0)


def _section(heading: str, found: Sequence[Entry], width: int) -> list[Line]:
    if not found:
        return []
    lines: list[Line] = [(Span(fit(heading, width), Role.HEADING),)]
    for entry in found:
        lines += _entry(entry, width)
    return [*lines, (Span(" " * width),)]


def _entry(entry: Entry, width: int) -> Iterable[Line]:
    """Keys, description, and what more there is to say, wrapped under itself; run together in few cells."""
    column = _DESCRIPTION if entry.description and width - _KEYS - _DESCRIPTION >= _LEAST_MORE else 0
    more = entry.more if column or not entry.description else f"{entry.description}: {entry.more}"
    room = max(1, width - _KEYS - column)
    for position, words in enumerate(wrap(more, room)):
        first = position == 0
        yield (
            Span(fit(f" {entry.keys}" if first else "", _KEYS - 1) + " ", Role.KEY),
            Span(fit(entry.description if first else "", column)),
            Span(fit(words.rstrip(), room), Role.DIM if column else Role.PLAIN),
        )


def _beside(sections: Sequence[list[Line]], width: int) -> list[Line]:
    """Split between two sections, where the longer column is shortest."""

    def lines(part: Sequence[list[Line]]) -> list[Line]:
        return [line for section in part for line in section]

    splits = [(lines(sections[:at]), lines(sections[at:])) for at in range(1, len(sections) + 1)]
    left, right = min(splits, key=lambda split: max(map(len, split)))
    blank: Line = (Span(" " * width),)
    height = max(len(left), len(right))
    left, right = left + [blank] * (height - len(left)), right + [blank] * (height - len(right))
    return [(*one, Span("  "), *other) for one, other in zip(left, right, strict=True)]
