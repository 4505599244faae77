"""How far rows of watched tables can be trusted, and who wrote them, in a few words. Pure."""

from stepwell.app.present import Role, clean, clean_line
from stepwell.core.past import Certainty, RowChange, Table

NOT_WATCHED = "no table is watched in this database: stepwell watch TABLE"
LONGEST_WHO = 30
"""Cells of the name of an application."""


def is_exact(table: Table) -> bool:
    return table.verdict.certainty is Certainty.EXACT


def verdict_words(table: Table) -> str:
    """`uncertain: it was rewritten (ALTER TABLE, VACUUM FULL, CLUSTER)`, `exact`"""
    why = clean(table.verdict.why)
    return f"{table.verdict.certainty}: {why}" if why else str(table.verdict.certainty)


def verdict_role(table: Table) -> Role:
    return Role.PLAIN if is_exact(table) else Role.ERROR


def table_words(table: Table) -> str:
    """Its name, with the schema unless that is everybody's."""
    return clean(table.name if table.schema == "public" else f"{table.schema}.{table.name}")


def who_words(change: RowChange) -> str:
    """`this run`, `another: warehouse-sync (4711)`; `by warehouse-sync` where that cannot be told."""
    if change.mine:
        return "this run"
    name = clean_line(change.who, LONGEST_WHO)
    return f"by {name}" if change.mine is None else f"another: {name} ({change.backend})"
