"""What a step changed in watched tables, for people and as JSON."""

from collections.abc import Iterator, Sequence

from stepwell.app.panes.tables import changes_document, changes_label
from stepwell.app.present import plain_text
from stepwell.commands.words import worth
from stepwell.core.past import RowChange, StepChanges, TableChanges

WIDTH = 98
"""Cells of a line for people, behind two blanks."""


def as_json(changes: StepChanges | None) -> list[dict[str, object]] | None:
    """The documented shape; None where nothing has been changed yet."""
    return None if changes is None else [_table(each) for each in changes.tables]


def _table(of: TableChanges) -> dict[str, object]:
    table = of.table
    return {
        "schema": table.schema,
        "name": table.name,
        **worth(table.verdict),
        "changes": [_change(each, table.key, table.columns) for each in of.changes],
        "more": of.more,
        "least": of.least,
    }


def _change(change: RowChange, key: Sequence[str], columns: Sequence[str]) -> dict[str, object]:
    return {
        "key": dict(zip(key, change.key, strict=True)),
        "old": None if change.old is None else dict(zip(columns, change.old, strict=True)),
        "new": None if change.new is None else dict(zip(columns, change.new, strict=True)),
        "who": change.who,
        "pid": change.backend,
        "mine": change.mine,
    }


def lines(changes: StepChanges | None) -> Iterator[str]:
    """Nothing where no row of a watched table has changed."""
    if changes is not None and any(table.changes or table.more for table in changes.tables):
        yield f"tables, {changes_label(changes)}"
        yield from (f"  {text}" for text in plain_text(changes_document(changes, WIDTH)))
