"""Watched tables: whether all that is written to them is captured, and what passes them by."""

from collections.abc import Iterator

from stepwell.core import doctor
from stepwell.core.doctor import Finding, Level, WatchedFacts
from stepwell.store.doctor.patient import Patient
from stepwell.store.watched import read_watched_tables
from stepwell.store.watching import is_installed


def examine_watched(patient: Patient) -> Iterator[Finding]:
    tables = read_watched_tables(patient.connection)
    if not tables:
        yield Finding(
            Level.NOTE, "watched", "no table is watched: steps show today's rows", "stepwell watch TABLE"
        )
        return
    more = {row["id"]: row for row in patient.ask("read_watching_facts")}
    for table in tables:
        about = more.get(table.id)
        if about is None:  # unwatched just now
            continue
        facts = WatchedFacts(
            schema=table.schema,
            name=table.name,
            now=table.now,
            rows=table.rows,
            bytes=table.bytes,
            bytes_a_day=table.bytes_a_day,
            as_superuser=about["as_superuser"],
            as_writer=about["as_writer"],
            unmatched=about["unmatched"],
            owner=table.owner,
            gone=table.gone,
        )
        yield from doctor.on_watched(facts)


def examine_bypasses(patient: Patient) -> Iterator[Finding]:
    if not is_installed(patient.connection):
        return
    found = patient.ask("find_bypasses")
    views = [row["name"] for row in found if row["kind"] == "view"]
    functions = [row["name"] for row in found if row["kind"] == "function"]
    yield from doctor.on_bypasses(views, functions)
