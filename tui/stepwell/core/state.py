"""The state of an agent: differences between whole states, and folding them up again.

Values are JSON values or whatever else the codec keeps; only plain dicts and lists are looked into.
A recorded difference is a JSON value of its own, `{"$patch": [op, …]}`, each op one of
`{"set": path, "to": value}`, `{"unset": path}`, `{"cut": path, "to": length}`; a path is a list of keys and
indexes, and setting the index one past the end of a list appends. Nothing in it deletes by being null.

Now and then a recorder gives the whole state in place of the difference, as one op with `at`: which step last
changed each of its keys, where that was not this step. A fold may begin there (`sql/queries/fold_state.sql`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard, TypeVar

from stepwell.core import codec
from stepwell.core.world import MISSING, Change

PATCH = "$patch"
AT = "at"
Path = tuple[str | int, ...]
Mark = TypeVar("Mark")


@dataclass(frozen=True, slots=True)
class StateStep:
    """A finished `state_update`: what it was given and gave, as JSON values."""

    number: int
    scope: str | None
    input: object
    output: object


@dataclass(slots=True)
class Folded:
    """What folding came to. Owned by the fold until it returns it."""

    states: dict[str | None, object] = field(default_factory=dict)
    set_at: dict[str | None, dict[str, int]] = field(default_factory=dict)
    changed: tuple[Change, ...] = ()
    odd: dict[int, str] = field(default_factory=dict)
    count: int = 0


def same(a: object, b: object) -> bool:
    """Equality as it is stored: 1, True and 1.0 differ, and so does another order of keys."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(
            key == other and same(value, a_value)
            for (key, value), (other, a_value) in zip(a.items(), b.items(), strict=True)
        )
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(v, w) for v, w in zip(a, b, strict=True))
    if a is None or isinstance(a, str | int):
        return a == b
    return codec.encode(a) == codec.encode(b)


def diff(old: object, new: object) -> list[dict[str, object]]:
    """The ops that turn `old` (which may be MISSING) into `new`, key order included.

    The keys of each stand as JSONB orders them: else that order would have to be kept beside every difference.
    """
    return list(_diff((), old, new))


def keyframe(new: object, at: Mapping[str, int]) -> list[dict[str, object]]:
    """The ops that make any state `new`, whose keys were last changed by the steps `at`, else by this one."""
    ordered = sorted(at, key=lambda key: (len(data := key.encode("utf-8", "surrogatepass")), data))
    return [{AT: {key: at[key] for key in ordered}, "to": new, "set": []}]


def _diff(path: Path, old: object, new: object) -> Iterator[dict[str, object]]:
    if _is_object(old) and _is_object(new) and _keeps_order(old, new):
        for key in old:
            if key not in new:
                yield {"unset": [*path, key]}
        for key, value in new.items():
            yield from _diff((*path, key), old.get(key, MISSING), value)
    elif type(old) is list and type(new) is list:
        if len(new) < len(old):
            yield {"to": len(new), "cut": [*path]}
        for index, value in enumerate(new):
            yield from _diff((*path, index), old[index] if index < len(old) else MISSING, value)
    elif not same(old, new):
        yield {"to": new, "set": [*path]}


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return type(value) is dict and all(type(key) is str for key in value)


def _keeps_order(old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    """Whether unsetting and then appending leaves the keys in the order of `new`."""
    kept = [key for key in old if key in new]
    return kept == list(new)[: len(kept)]


def paths(ops: Sequence[Mapping[str, object]]) -> list[str]:
    """What the ops change, as text: `$.plan[2]`."""
    return [path_text(tuple(_path(op))) for op in ops]


def path_text(path: Path) -> str:
    """`$.plan[2]`; a key that is no plain word is quoted as in JSONPath: `$["a b"]`."""
    parts = ["$"]
    for part in path:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif part.isidentifier():
            parts.append(f".{part}")
        else:
            escaped = part.replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'["{escaped}"]')
    return "".join(parts)


def _path(op: Mapping[str, object]) -> list[str | int]:
    for kind in ("set", "unset", "cut"):
        path = op.get(kind)
        if isinstance(path, list):
            return path
    raise ValueError("an op without a path")


def apply(state: object, op: Mapping[str, object]) -> object:
    """`state` with one op applied; containers on the path are copied, the rest is shared.

    Raises ValueError, KeyError, IndexError or TypeError where the path leads nowhere.
    """
    return _apply(state, _path(op), op)


def _apply(node: object, path: list[str | int], op: Mapping[str, object]) -> object:
    if not path:
        return _at_end(node, op)
    key, rest = path[0], path[1:]
    if isinstance(node, dict) and isinstance(key, str):
        if not rest and "unset" in op:
            return {k: v for k, v in node.items() if k != key}
        return {**node, key: _apply(node.get(key, MISSING), rest, op)}
    if isinstance(node, list) and isinstance(key, int) and 0 <= key <= len(node):
        child = node[key] if key < len(node) else MISSING
        return [*node[:key], _apply(child, rest, op), *node[key + 1 :]]
    raise ValueError(f"no {key!r} there")


def _at_end(node: object, op: Mapping[str, object]) -> object:
    if "set" in op:
        return op["to"]
    length = op.get("to")
    if "cut" in op and isinstance(node, list) and isinstance(length, int):
        return node[:length]
    if "unset" in op:
        return MISSING
    raise ValueError("nothing there to cut")


def merge_patch(state: object, patch: object) -> object:
    """RFC 7396: objects are merged key by key, null deletes, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(state) if isinstance(state, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def fold(steps: Sequence[StateStep], number: int) -> Folded:
    """Fold the steps in the order given; `changed` is what step `number` did, if it is among them."""
    folded = Folded()
    for step in steps:
        old = folded.states.get(step.scope, MISSING)
        new, why = step_effect(old, step)
        if why:
            folded.odd[step.number] = why
        folded.states[step.scope] = new
        folded.count += 1
        if new is not old:
            _set_keys(folded.set_at.setdefault(step.scope, {}), old, new, step)
        if step.number == number:
            folded.changed = tuple(changes(step.scope, (), old, new))
    for scope in [scope for scope, state in folded.states.items() if state is MISSING]:
        del folded.states[scope]
    return folded


def step_effect(old: object, step: StateStep) -> tuple[object, str | None]:
    """The state after one step, and a few words where the step was not what it claims to be."""
    if (ops := _ops(step)) is not None:
        try:
            new = old
            for op in ops:
                new = apply(new, op)
        except (AttributeError, ValueError, TypeError) as problem:
            return old, f"its patch does not fit the state before it ({problem})"
        return new, None
    if isinstance(step.output, dict):
        return merge_patch(old, step.output), None
    return step.output, "not an object: it replaces the state" if old is not MISSING else None


def _ops(step: StateStep) -> list[dict[str, object]] | None:
    return patch_of(step.input)


def patch_of(value: object) -> list[dict[str, object]] | None:
    """The ops, where the input of a state step is a recorded difference."""
    ops = value.get(PATCH) if isinstance(value, dict) and len(value) == 1 else None
    return ops if isinstance(ops, list) else None


def _set_keys(set_at: dict[str, int], old: object, new: object, step: StateStep) -> None:
    ops = _ops(step)
    at = _at(ops) if old is MISSING and ops is not None else None
    if at is None:
        note_keys(set_at, old, new, step.number, ops)
    elif isinstance(new, dict):
        set_at.update({key: at.get(key, step.number) for key in new})


def _at(ops: Sequence[Mapping[str, object]]) -> Mapping[str, int] | None:
    """Of a keyframe: which steps its keys were changed by."""
    at = ops[0].get(AT) if ops and isinstance(ops[0], dict) else None
    return at if isinstance(at, dict) and all(type(number) is int for number in at.values()) else None


def note_keys(
    set_at: dict[str, Mark], old: object, new: object, mark: Mark, ops: Sequence[Mapping[str, object]] | None
) -> None:
    """Mark which top-level keys of a state changed, and forget those that went.

    The keys that a recorded difference `ops` names are told without comparing what may be long and has grown a bit.
    """
    touched = None if ops is None else _touched(ops)
    before = old if isinstance(old, dict) else {}
    after = new if isinstance(new, dict) else {}
    for key in [key for key in set_at if key not in after]:
        del set_at[key]
    for key in after if touched is None else touched:
        value, former = after.get(key, MISSING), before.get(key, MISSING)
        if value is MISSING or value is former:
            continue
        if (touched is not None and isinstance(value, dict | list)) or not same(value, former):
            set_at[key] = mark


def _touched(ops: Sequence[Mapping[str, object]]) -> set[str] | None:
    """The top-level keys that a difference names; None where any may have changed."""
    heads = {path[0] if path else None for path in map(_path, ops)}
    keys = {head for head in heads if isinstance(head, str)}
    return keys if len(keys) == len(heads) else None


def changes(scope: str | None, path: Path, old: object, new: object) -> Iterator[Change]:
    """What is other in the new below `path`, leaf by leaf."""
    if not path and old is MISSING and isinstance(new, dict) and new:
        old = {}
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from changes(scope, (*path, key), old.get(key, MISSING), new.get(key, MISSING))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            yield from changes(
                scope,
                (*path, index),
                old[index] if index < len(old) else MISSING,
                new[index] if index < len(new) else MISSING,
            )
    elif not same(old, new):
        yield Change(scope, path, old, new)
