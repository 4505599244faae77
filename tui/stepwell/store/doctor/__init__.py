"""Examining a database and a role on it: many small checks, none of which keeps the others from being made."""

from collections.abc import Callable, Iterator

import psycopg

from stepwell.core.doctor import Finding, Level
from stepwell.errors import DatabaseError
from stepwell.store.doctor.patient import Patient
from stepwell.store.doctor.recording import examine_runs, examine_schema
from stepwell.store.doctor.server import examine_holders, examine_move, examine_role, examine_server
from stepwell.store.doctor.watching import examine_bypasses, examine_watched
from stepwell.store.trouble import said

Check = Callable[[Patient], Iterator[Finding]]
CHECKS: tuple[tuple[str, Check], ...] = (
    ("server", examine_server),
    ("role", examine_role),
    ("move", examine_move),
    ("holders", examine_holders),
    ("tables", examine_schema),
    ("runs", examine_runs),
    ("watched", examine_watched),
    ("bypasses", examine_bypasses),
)


def examine(patient: Patient) -> Iterator[Finding]:
    """What each check finds, in turn. One that fails is a finding itself."""
    for topic, check in CHECKS:
        try:
            yield from check(patient)
        except psycopg.Error as problem:
            yield Finding(Level.WARN, topic, f"could not be found out: {said(problem)}")
            if patient.connection.closed:
                return
        except DatabaseError as problem:
            yield Finding(Level.WARN, topic, str(problem))
