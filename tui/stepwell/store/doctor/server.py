"""The server, the role, and what a move can have from them."""

import time
from collections.abc import Iterator

from stepwell.core import doctor
from stepwell.core.doctor import Finding, HolderFacts, RoleFacts, ServerFacts
from stepwell.store.bounded import glance
from stepwell.store.connect import is_standby
from stepwell.store.doctor.patient import Patient
from stepwell.store.session import read_session
from stepwell.store.transaction import read_snapshot


def examine_server(patient: Patient) -> Iterator[Finding]:
    """Raises what psycopg raises, as all checks do."""
    patient.ask("read_server_facts")  # the first one opens files, which is not to count as the way there
    began = time.time()
    (row,) = patient.ask("read_server_facts")
    ended = time.time()
    facts = ServerFacts(
        version=row["version"],
        standby=row["standby"],
        pooled=row["backend"] != patient.connection.info.backend_pid,
        skew=row["clock"] - (began + ended) / 2,
        unsure=(ended - began) / 2,
        timezone=row["timezone"],
        most=row["most"],
        used=row["used"],
    )
    yield from doctor.on_server(facts)


def examine_role(patient: Patient) -> Iterator[Finding]:
    session = glance(patient.connection, read_session)
    facts = RoleFacts(
        role=session.role,
        superuser=session.superuser,
        owner=session.owned,
        writes=session.written,
        powers=session.powers,
        read_only=patient.ask("read_server_facts")[0]["read_only"],
        reaching=[row["extname"] for row in patient.ask("find_reaching")],
        statement_ms=session.statement_ms,
        lock_ms=session.lock_ms,
        idle_ms=session.idle_ms,
    )
    yield from doctor.on_role(facts)


def examine_move(patient: Patient) -> Iterator[Finding]:
    _, report = read_snapshot(
        patient.connection,
        lambda connection: connection.info.status,
        standby=is_standby(patient.connection),
        observer=patient.another,
    )
    yield doctor.on_isolation(report.isolation, report.notes)


def examine_holders(patient: Patient) -> Iterator[Finding]:
    rows = patient.ask("find_holders", {"seconds": doctor.LONG_SECONDS})
    yield from doctor.on_holders([HolderFacts(**row) for row in rows])
