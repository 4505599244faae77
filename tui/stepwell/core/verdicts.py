"""How far the past of a watched table can be trusted, from what is known of the table and of the instant."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.core.names import command_name, sql_name
from stepwell.core.past import Certainty, Instant, Origin, Verdict

Shape = Mapping[str, Any]
"""What `stepwell_log.shape` tells of a table."""
CHANGED = "changed after it was watched"
"""The loss of rows of which columns could not be told by their names; watching again makes good for it."""
AGE = 2**31
"""So many transactions later the xids in rows begin to repeat."""
_LENGTH = re.compile(r'("(?:[^"]|"")*")|\([^()]*\)')


@dataclass(frozen=True, slots=True)
class Clock:
    """What of the server decides whether an instant means anything there now."""

    system: int | None
    """None where this role may not ask."""
    timeline: int | None
    """None where this role may not ask; on a standby that of the last checkpoint, which may be an older one."""
    next: int
    """The next transaction's xid."""
    fate: str | None
    """`committed`, `aborted` or `in progress`, of the instant's own transaction; None where that is not known."""
    standby: bool = False
    kept: bool = True
    """Whether the logs have the last that this transaction had written by the instant."""


@dataclass(frozen=True, slots=True)
class Look:
    """A table as it was found at some time. `seen`: whether the instant was after that."""

    seen: bool
    why: str
    """`watched`, and `before watch` where it was watched already; `before truncate` and `after truncate`."""
    shape: Shape
    at: str


@dataclass(frozen=True, slots=True)
class State:
    """What has become of a watched table. Names are those under which it was watched."""

    schema: str
    name: str
    shape: Shape | None
    """As it is now; None where it is gone."""
    looks: Sequence[Look]
    """The oldest first; at least one."""
    readable: bool
    logged: bool
    writable: bool
    """Whether its trigger may write its log."""
    log_readable: bool
    viewed: bool
    pruned: bool
    lost: str | None
    system: int | None
    """The server that its log belongs to."""


def verdict(state: State, instant: Instant | None, origin: Origin | None, clock: Clock) -> Verdict:
    """What the rows as of the instant are worth; `why` in a few words, with the remedy where there is one."""
    if (unknown := _unknown(state, instant, origin, clock)) is not None:
        return Verdict(Certainty.UNKNOWN, unknown)
    assert instant is not None
    doubts = list(_doubts(state, instant, origin, clock))
    if doubts:
        return Verdict(Certainty.UNCERTAIN, doubts[0])
    return Verdict(Certainty.EXACT, _remark(state))


def is_fast(state: State) -> bool:
    """Whether the xids in the rows alone may tell what is younger than a snapshot.

    They may not once something has rewritten the table since then, and not where they may have begun to repeat.
    """
    seen = [look for look in state.looks if look.seen]
    if state.shape is None or not seen:
        return False
    return _storages(state.shape) == _storages(seen[-1].shape)


def _unknown(state: State, instant: Instant | None, origin: Origin | None, clock: Clock) -> str | None:
    """Why nothing is known of its past; None where something is."""
    name = command_name(state.schema, state.name)
    again = f"stepwell watch {name}"
    if instant is None:
        return "this step was recorded without a snapshot"
    if origin is not None and None not in (origin.system, clock.system) and origin.system != clock.system:
        return "this step was recorded on another server"
    if state.system is not None and clock.system is not None and state.system != clock.system:
        return f"its log is of another server; {again}"
    if clock.next - xmin_of(instant) >= AGE:
        return "this step is more than 2 billion transactions old"
    if state.shape is None:
        return "the table was dropped"
    if (state.shape["schema"], state.shape["name"]) != (state.schema, state.name):
        new = state.shape["schema"], state.shape["name"]
        return f"it is called {sql_name(*new)} now; stepwell watch {command_name(*new)}"
    if not state.shape["current"] or not all(
        part["current"] for part in (state.shape["parts"] or {}).values()
    ):
        return "it was truncated, rewritten or renamed this very moment; ask again"
    if not state.logged or not state.viewed:
        return f"its {'view' if state.logged else 'log'} was dropped; {again}"
    if not state.readable or not state.log_readable:
        return "this role may not read " + ("the table" if not state.readable else "its log")
    if not any(look.seen for look in state.looks):
        return f"it is watched since {state.looks[0].at} only, after this step"
    if state.pruned:
        return "its log of then was pruned"
    if state.lost not in (None, CHANGED):
        return f"history lost: {state.lost}"
    if retyped := _retyped(state):
        return f"column {', '.join(retyped)} has another type now; stepwell unwatch {name}, then {again}, begins anew"
    if missing := _missing(state):
        return f"column {', '.join(missing)} is gone; {again}"
    if state.lost is not None:
        return f"it was {state.lost}; {again}"
    return None


def _doubts(state: State, instant: Instant, origin: Origin | None, clock: Clock) -> Iterator[str]:
    """What may have changed its rows unlogged."""
    assert state.shape is not None
    since = [look for look in state.looks if look.seen][-1:] + [look for look in state.looks if not look.seen]
    now = Look(False, "now", state.shape, "")
    for before, after in zip(since, [*since[1:], now], strict=True):
        if after.why not in ("after truncate", "watched") and (why := _difference(before.shape, after.shape)):
            yield f"{why}, some time after {before.at}"
    if clock.system is None:
        yield "this role may not ask which server this is; GRANT EXECUTE ON FUNCTION pg_control_system()"
    if origin is not None and origin.system is None:
        yield "its recorder might not ask which server that was; GRANT EXECUTE ON FUNCTION pg_control_system() to it"
    if not state.writable:
        yield "its trigger may not write its log"
    if instant.own is not None and clock.fate == "aborted":
        yield "the agent's transaction of then was rolled back, and what it had written with it"
    if instant.own is not None and clock.fate == "in progress":
        yield "the agent's transaction of then is still open, and nobody else sees what it has written; ask again"
    elif instant.own is not None and not clock.kept:
        yield "what the agent had last written by then is in no log here: rolled back to a savepoint, it seems"
    if origin is not None and origin.timeline is not None and _is_elsewhere(origin.timeline, clock):
        yield "the server was failed over or restored to an earlier point since"


def _is_elsewhere(timeline: int, clock: Clock) -> bool:
    """Whether this server is on another timeline; a standby may not have heard yet of the one that it follows."""
    if clock.timeline is None:
        return False
    return timeline < clock.timeline if clock.standby else timeline != clock.timeline


def _difference(old: Shape, new: Shape) -> str:
    """What only something that nobody logs can have brought about; empty for none."""
    was, is_ = old["parts"] or {}, new["parts"] or {}
    for oid, part in was.items():
        if oid not in is_:
            return f"partition {part['name']} was detached or dropped"
        other = is_[oid]
        if other["joined"] != part["joined"]:
            return f"partition {part['name']} was detached and attached"
        if other["storage"] != part["storage"] and (_altered(old, new) or other["method"] != part["method"]):
            return f"{other['name']} was rewritten by ALTER TABLE"
        if other["triggers"] != part["triggers"] and not _same_triggers(part, other):
            return f"a trigger of Stepwell's on {other['name']} was disabled or dropped"
    plain = any(part["joined"] is None and part["kind"] == "r" for part in is_.values())
    for oid, part in is_.items():
        if oid not in was and plain:
            return f"{part['name']} inherits from it"
        if oid not in was and part["kind"] != "p" and not part["born"]:
            return f"partition {part['name']} was attached"
    for oid, parts in (old["types"] or {}).items():
        if (now := (new["types"] or {}).get(oid)) is not None and any(
            now.get(k) != v for k, v in parts.items()
        ):
            return "one of its enum or composite types was changed"
    was_computed, is_computed = old["computed"] or {}, new["computed"] or {}
    if any(is_computed.get(number, computed) != computed for number, computed in was_computed.items()):
        return "the expression of a virtual column was changed"
    if new["persistence"] != "p" or new["secured"]:
        return "it became unlogged" if new["persistence"] != "p" else "it has got row-level security"
    if new["key"] != old["key"]:
        return "its primary key was changed"
    names = {column[1]: column[0] for column in old["columns"] or ()}
    moved = [column[1] for column in new["columns"] or () if names.get(column[1], column[0]) != column[0]]
    return f"column {', '.join(moved)} was another one" if moved else ""


def _altered(old: Shape, new: Shape) -> bool:
    """Whether a change of the columns may have rewritten the rows; VACUUM FULL and CLUSTER only move them."""
    return any(old[part] != new[part] for part in ("columns", "expressions", "persistence"))


def _same_triggers(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether all that fired fires still, and none was touched."""
    now = new["triggers"] or {}
    return all(now.get(name) == state for name, state in (old["triggers"] or {}).items())


def _missing(state: State) -> list[str]:
    """Columns by the names that its view knows, where they are not there any more."""
    assert state.shape is not None
    watched = [look for look in state.looks if look.why == "watched"][-1]
    now = {column[1] for column in state.shape["columns"] or ()}
    return [column[1] for column in watched.shape["columns"] or () if column[1] not in now]


def _retyped(state: State) -> list[str]:
    """Columns whose values are of another type than those of its view, whatever their length."""
    assert state.shape is not None
    watched = [look for look in state.looks if look.why == "watched"][-1]
    was = {column[0]: _without_length(column[2]) for column in watched.shape["columns"] or ()}
    return [
        column[1]
        for column in state.shape["columns"] or ()
        if column[0] in was and was[column[0]] != _without_length(column[2])
    ]


def _without_length(type_: str) -> str:
    """`timestamp with time zone` for `timestamp(3) with time zone`. Brackets in quotes are part of a name."""
    return _LENGTH.sub(lambda found: found[1] or "", type_)


def later_columns(state: State) -> tuple[int, ...]:
    """The numbers of columns that the view has, and that the table had not when it was looked at before the instant."""
    seen = [look for look in state.looks if look.seen][-1:]
    if not seen:
        return ()
    known = {column[0] for column in seen[0].shape["columns"] or ()}
    watched = [look for look in state.looks if look.why == "watched"][-1]
    return tuple(column[0] for column in watched.shape["columns"] or () if column[0] not in known)


def _remark(state: State) -> str:
    """What its past has not: columns that were added since it was watched, and that were dropped."""
    assert state.shape is not None
    seen = [look for look in state.looks if look.seen][-1]
    was = {column[0]: column[1] for column in seen.shape["columns"] or ()}
    now = {column[0]: column[1] for column in state.shape["columns"] or ()}
    added = ", ".join(name for number, name in now.items() if number not in was)
    dropped = ", ".join(name for number, name in was.items() if number not in now)
    told = [f"the later column {added}"] if added else []
    told += [f"column {dropped}, which was dropped"] if dropped else []
    return f"without {' and '.join(told)}" if told else ""


def _storages(shape: Shape) -> dict[str, object]:
    return {oid: part["storage"] for oid, part in (shape["parts"] or {}).items() if part["kind"] != "p"}


def xmin_of(instant: Instant) -> int:
    """All transactions before this one were over."""
    return int(instant.snapshot.partition(":")[0])
