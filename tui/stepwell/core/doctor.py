"""What is well and what is not about a database and a role on it: facts in, findings out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from stepwell.core.names import command_name, sql_name
from stepwell.core.past import Certainty, Verdict

ROOM = 10
"""Connections that should be left."""
SKEW_SECONDS = 2.0
"""By how much the clocks of client and server may differ until durations and ages mislead."""
LONG_SECONDS = 600.0
"""A transaction that is open for longer holds up VACUUM, and the pruning of logs."""
MOST_NAMES = 4


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Worth knowing, and nothing to be done about at once."""
    WARN = "WARN"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line, and what can be done about it; `remedy` is empty where there is nothing to do."""

    level: Level
    topic: str
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the server says of itself. Times in seconds."""

    version: str
    standby: bool
    pooled: bool
    """Whether another process answers than the one that the connection was told of."""
    skew: float
    """How far the server's clock is ahead of the client's."""
    unsure: float
    """By how much that may be wrong: half the time that asking took."""
    timezone: str
    most: int
    """Connections that a role without privileges may make together."""
    used: int


@dataclass(frozen=True, slots=True)
class RoleFacts:
    """What this role may. Limits in milliseconds, 0 for none."""

    role: str
    superuser: bool
    owner: bool
    writes: bool
    powers: Sequence[str]
    read_only: bool
    """Whether its transactions are READ ONLY unless it says otherwise."""
    reaching: Sequence[str]
    """Extensions with functions that reach out of the transaction, which this role may call."""
    statement_ms: int
    lock_ms: int
    idle_ms: int


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One of Stepwell's own tables; sizes in bytes."""

    name: str
    there: bool
    readable: bool
    writable: bool
    bytes: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """How the runs stand."""

    died: int
    in_doubt: int
    """Those of the died that have a step without an end."""


@dataclass(frozen=True, slots=True)
class WatchedFacts:
    """A watched table, as of now."""

    schema: str
    name: str
    now: Verdict
    rows: int
    bytes: int
    bytes_a_day: float | None
    as_superuser: bool
    """Whether the function of its trigger runs as a superuser."""
    as_writer: bool
    """Whether it runs as the role that is for it, or as the owner of the table."""
    unmatched: Sequence[str]
    """Roles that may read either the table or its log, and not both."""
    owner: str | None
    gone: bool
    """Whether the table was dropped."""


@dataclass(frozen=True, slots=True)
class HolderFacts:
    """A transaction that has been open for long."""

    who: str
    seconds: float
    serializable: bool


def on_server(facts: ServerFacts) -> Iterator[Finding]:
    """The version, the way there, the clocks and the room."""
    where = "a hot standby" if facts.standby else "a primary"
    yield Finding(Level.OK, "server", f"Postgres {facts.version}, {where}, time zone {facts.timezone}")
    if facts.standby:
        why = "runs stay running here, for locks cannot be seen, and nothing can be recorded or watched"
        yield Finding(Level.NOTE, "standby", why, "record, watch and prune on the primary")
    if facts.pooled:
        yield Finding(
            Level.NOTE,
            "pooler",
            "a pooler in transaction mode is between: whom a move waits for is not named",
            "connect to the server itself for doctor and sql",
        )
    yield _clock(facts)
    left = facts.most - facts.used
    text = f"{facts.used} of {facts.most} connections are taken"
    if left >= ROOM:
        yield Finding(Level.OK, "room", text)
    else:
        yield Finding(Level.WARN, "room", text, "close some, put a pooler between, or raise max_connections")


def _clock(facts: ServerFacts) -> Finding:
    ahead = "ahead of" if facts.skew > 0 else "behind"
    text = f"the server's clock is {abs(facts.skew):.2f} s {ahead} this one (give or take {facts.unsure:.2f})"
    if abs(facts.skew) <= SKEW_SECONDS + facts.unsure:
        return Finding(Level.OK, "clock", text)
    return Finding(Level.WARN, "clock", f"{text}; ages and durations mislead", "have both follow NTP")


def on_role(facts: RoleFacts) -> Iterator[Finding]:
    """How much more than looking it may do."""
    too_much = [
        what
        for is_so, what in (
            (facts.superuser, "is a superuser"),
            (facts.owner and not facts.superuser, "owns the tables"),
            (facts.writes and not facts.owner and not facts.superuser, "may write"),
            (bool(facts.powers) and not facts.superuser, f"has {_names(facts.powers)}"),
        )
        if is_so
    ]
    if too_much:
        text = f"{facts.role} {' and '.join(too_much)}; only READ ONLY keeps a move from writing"
        yield Finding(Level.NOTE, "role", text, "to look, use a member of stepwell_debugger (sql/roles.sql)")
    else:
        yield Finding(Level.OK, "role", f"{facts.role} may only look")
    if facts.reaching:
        text = f"{facts.role} may call functions of {_names(facts.reaching)}, which act beyond a transaction"
        yield Finding(
            Level.NOTE, "reach", text, "REVOKE EXECUTE on them from who looks; stepwell sql refuses them"
        )
    limits = {"statement": facts.statement_ms, "lock": facts.lock_ms, "idle": facts.idle_ms}
    own = [f"{name} {ms} ms" for name, ms in limits.items() if ms]
    own += ["READ ONLY by default"] if facts.read_only else []
    yield Finding(
        Level.OK, "limits", f"of the role's own: {', '.join(own) or 'none'}; a move sets its own, if narrower"
    )


def on_isolation(isolation: str, notes: Sequence[str]) -> Finding:
    """Which transaction a move can have at this moment."""
    if not notes:
        return Finding(Level.OK, "move", f"{isolation}, without a wait")
    standby = "standby" in notes
    return Finding(
        Level.NOTE if standby else Level.WARN,
        "move",
        f"{isolation}: {'; '.join(notes)}",
        "" if standby else "have serializable writers keep their transactions short",
    )


def on_schema(missing: Sequence[int], tables: Sequence[TableFacts], fault: str) -> Iterator[Finding]:
    """Stepwell's own tables. `fault` is what agent_steps lacks, with the remedy; empty for nothing."""
    absent = [table.name for table in tables if not table.there]
    if absent:
        level = Level.WARN if "agent_steps" in absent else Level.NOTE
        yield Finding(
            level, "tables", f"{_names(absent)}: not there, or not in the search path", "stepwell init"
        )
    elif missing:
        text = f"versions {', '.join(map(str, missing))} of the schema are missing"
        yield Finding(Level.NOTE, "tables", text, "stepwell init, as the owner of the tables")
    if fault:
        yield Finding(Level.WARN, "columns", fault)
    for table in tables:
        if not table.there:
            continue
        if not table.readable:
            remedy = "GRANT stepwell_debugger TO this role (sql/roles.sql)"
            yield Finding(Level.WARN, "tables", f"{table.name} may not be read", remedy)
        else:
            also = "and written" if table.writable else "and not written"
            yield Finding(Level.OK, "tables", f"{table.name} may be read {also}: {_size(table.bytes)}")


def on_runs(facts: RunFacts) -> Finding:
    """Those that were cut short."""
    if not facts.died:
        return Finding(Level.OK, "runs", "none died")
    text = f"{facts.died} died, {facts.in_doubt} of them with a step in doubt"
    return Finding(Level.NOTE, "runs", text, "stepwell runs --failed lists them; stepwell prune --older-than")


def on_watched(facts: WatchedFacts) -> Iterator[Finding]:
    """One watched table."""
    name = f"{facts.schema}.{facts.name}"
    again = f"stepwell watch {command_name(facts.schema, facts.name)}"
    growth = f", about {_size(round(facts.bytes_a_day))} a day" if facts.bytes_a_day else ""
    log = f"log {facts.rows:,} row{'' if facts.rows == 1 else 's'}, {_size(facts.bytes)}{growth}"
    if facts.now.certainty is Certainty.EXACT:
        why = f"; {facts.now.why}" if facts.now.why else ""
        yield Finding(Level.OK, "watched", f"{name}: captured whole{why}; {log}")
    else:
        helps = remedy(facts.now, facts.schema, facts.name, facts.owner, gone=facts.gone)
        yield Finding(Level.WARN, "watched", f"{name}: {facts.now.certainty}: {facts.now.why}; {log}", helps)
    if facts.gone:
        return
    if facts.as_superuser:
        text = f"{name}: its trigger runs as a superuser"
        yield Finding(Level.WARN, "watched", text, again)
    elif not facts.as_writer:
        text = f"{name}: its trigger runs neither as its owner nor as stepwell_log_writer"
        yield Finding(Level.NOTE, "watched", text, again)
    if facts.unmatched:
        text = f"{name}: {_names(facts.unmatched)} may read either the table or its log, and not both"
        yield Finding(Level.WARN, "watched", text, again)


def remedy(now: Verdict, schema: str, name: str, owner: str | None, *, gone: bool) -> str:
    """What can be done about a watched table of which not all is captured; empty where `now` says it, or all is."""
    command = command_name(schema, name)
    if gone:
        return f"stepwell unwatch {command}"
    if "may not read" in now.why:
        who = owner or "its owner"
        return (
            f"GRANT SELECT ON {sql_name(schema, name)} to this role, then stepwell watch {command} as {who}"
        )
    return "" if now.certainty is Certainty.EXACT or "; " in now.why else f"stepwell watch {command}"


def on_bypasses(views: Sequence[str], functions: Sequence[str]) -> Iterator[Finding]:
    """What reads watched tables as they are today, whatever step is looked at."""
    if views:
        text = f"these read today's rows of watched tables: {_names(views)}"
        yield Finding(Level.NOTE, "views", text, "query the tables that they read")
    if functions:
        text = f"functions with a search path or a body of their own read today's rows: {_names(functions)}"
        yield Finding(Level.NOTE, "functions", text, "query the tables that they read")


def on_holders(holders: Sequence[HolderFacts]) -> Iterator[Finding]:
    """Transactions that others wait for, in one way or another."""
    for holder in holders:
        kind = "a serializable transaction" if holder.serializable else "a transaction"
        text = f"{kind} of {holder.who} is open for {holder.seconds:.0f} s"
        yield Finding(
            Level.WARN, "holders", f"{text}: VACUUM and the pruning of logs wait for it", "have it end"
        )
    if not holders:
        yield Finding(Level.OK, "holders", f"no transaction is open for more than {LONG_SECONDS:.0f} s")


def _names(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _size(number: int) -> str:
    scaled, unit = float(number), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if scaled < 1000 or unit == "TB":
            break
        scaled /= 1000
    return f"{scaled:.0f} B" if unit == "B" else f"{scaled:.1f} {unit}"
