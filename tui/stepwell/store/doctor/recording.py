"""Stepwell's own tables, and the runs in them."""

from collections.abc import Iterator
from contextlib import suppress

import psycopg

from stepwell.core import doctor
from stepwell.core.doctor import Finding, RunFacts, TableFacts
from stepwell.core.liveness import ALIVE_SECONDS
from stepwell.errors import DatabaseError
from stepwell.store.bounded import glance
from stepwell.store.columns import check_columns
from stepwell.store.doctor.patient import Patient
from stepwell.store.migrate import applied
from stepwell.store.queries import schema_files


def examine_schema(patient: Patient) -> Iterator[Finding]:
    tables = [TableFacts(**row) for row in patient.ask("read_table_facts")]
    missing: list[int] = []
    with suppress(psycopg.errors.InsufficientPrivilege):  # who may only look need not know
        there = glance(patient.connection, applied)
        missing = [version for version, _ in schema_files() if version not in there]
    fault = ""
    try:
        glance(patient.connection, check_columns)
    except DatabaseError as problem:
        fault = str(problem)
    yield from doctor.on_schema(missing, tables, fault)


def examine_runs(patient: Patient) -> Iterator[Finding]:
    runs = next(row for row in patient.ask("read_table_facts") if row["name"] == "agent_runs")
    if runs["there"] and runs["readable"]:
        (row,) = patient.ask("count_died", {"patience": ALIVE_SECONDS})
        yield doctor.on_runs(RunFacts(**row))
