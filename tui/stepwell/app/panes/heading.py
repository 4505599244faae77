"""The line above each pane: what it is, and where in it the window is."""

from typing import Protocol

from stepwell.app.geometry import Pane
from stepwell.app.present import Line, Role, Span, cells, count, fit


class Position(Protocol):
    """Lines in view, counted from 1, of how many."""

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def known(self) -> int: ...
    @property
    def complete(self) -> bool: ...


def heading_line(pane: Pane, label: str, position: Position, width: int, *, chosen: bool) -> Line:
    """`OUTPUT- 12.4 KB ------------------------ 1-6/412`; the chosen pane's name stands in brackets."""
    name = f"[{pane.upper()}]" if chosen else f"{pane.upper()}-"
    right = where(position)
    room = width - cells(name) - cells(right) - 4
    text = label if cells(label) <= room else fit(label, max(0, room))
    rule = "-" * max(1, width - cells(name) - cells(text) - cells(right) - 3)
    return (
        Span(name, Role.HEADING),
        Span(f" {text} "),
        Span(rule, Role.DIM),
        Span(f" {right}"),
    )


def where(position: Position) -> str:
    """`1-6/412` of the lines that are known, or `all`."""
    if position.complete and position.first <= 1 and position.last >= position.known:
        return "all"
    more = "" if position.complete else "+"
    return f"{count(position.first)}-{count(position.last)}/{count(position.known)}{more}"
