"""What a hostile writer does, as SQL: the ways that lose a version where versions are told by key or by order."""

from collections.abc import Callable
from random import Random

from tests.asof.kinds import Column, Kind


def statement(kind: Kind, chance: Random) -> str:
    """One statement of any verb."""
    return chance.choice(VERBS)(kind, chance)


def _literal(column: Column, chance: Random) -> str:
    return chance.choice(column.literals)


def _target(kind: Kind, chance: Random) -> str:
    """The table, or now and then one of its partitions."""
    return "public." + (chance.choice(kind.parts) if kind.parts and chance.random() < 0.3 else kind.name)


def _names(kind: Kind) -> str:
    return ", ".join(column.name for column in kind.columns)


def _row(kind: Kind, chance: Random) -> str:
    return "(" + ", ".join(_literal(column, chance) for column in kind.columns) + ")"


def _rows(kind: Kind, chance: Random) -> str:
    """Rows of which no two have one key."""
    rows = {}
    for _ in range(chance.randint(1, 5)):
        key = tuple(_literal(column, chance) for column in kind.key)
        rows[key] = (*key, *(_literal(column, chance) for column in kind.values))
    return ", ".join(f"({', '.join(row)})" for row in rows.values())


def _keys(kind: Kind) -> str:
    return ", ".join(column.name for column in kind.key)


def _some(kind: Kind, chance: Random) -> str:
    """A condition that some rows meet."""
    column = kind.key[0]
    if chance.random() < 0.5:
        return f"{column.name} = {_literal(column, chance)}"
    low, high = sorted((chance.randrange(len(column.literals)), chance.randrange(len(column.literals))))
    return f"{column.name} IN ({', '.join(column.literals[low : min(high, low + 6) + 1])})"


def _set(kind: Kind, chance: Random) -> str:
    some = chance.sample(kind.values, chance.randint(1, len(kind.values)))
    return ", ".join(f"{column.name} = {_literal(column, chance)}" for column in some)


def _insert(kind: Kind, chance: Random) -> str:
    return f"INSERT INTO {_target(kind, chance)} ({_names(kind)}) VALUES {_rows(kind, chance)}"


def _upsert(kind: Kind, chance: Random) -> str:
    change = ", ".join(f"{column.name} = excluded.{column.name}" for column in kind.values)
    return f"{_insert(kind, chance)} ON CONFLICT ({_keys(kind)}) DO UPDATE SET {change}"


def _upsert_moving(kind: Kind, chance: Random) -> str:
    column = kind.key[0]
    moved = f"{column.name} = {_literal(column, chance)}"
    return f"{_insert(kind, chance)} ON CONFLICT ({_keys(kind)}) DO UPDATE SET {moved}"


def _do_nothing(kind: Kind, chance: Random) -> str:
    return f"{_insert(kind, chance)} ON CONFLICT DO NOTHING"


def _delete(kind: Kind, chance: Random) -> str:
    return f"DELETE FROM {_target(kind, chance)} WHERE {_some(kind, chance)}"


def _update(kind: Kind, chance: Random) -> str:
    return f"UPDATE {_target(kind, chance)} SET {_set(kind, chance)} WHERE {_some(kind, chance)}"


def _move(kind: Kind, chance: Random) -> str:
    column = chance.choice(kind.key)
    where = f"{column.name} = {_literal(column, chance)}"
    return f"UPDATE {_target(kind, chance)} SET {column.name} = {_literal(column, chance)} WHERE {where}"


def _shift(kind: Kind, chance: Random) -> str:
    name = kind.key[0].name
    shifted = kind.shift or f"{name} {chance.choice('+-')} {chance.choice('123')}"
    return f"UPDATE {_target(kind, chance)} SET {name} = {shifted} WHERE {_some(kind, chance)}"


def _reinsert(kind: Kind, chance: Random) -> str:
    limit = chance.choice(("", " LIMIT 1"))
    return (
        f"WITH gone AS (DELETE FROM {_target(kind, chance)} WHERE {_some(kind, chance)} RETURNING {_names(kind)})"
        f" INSERT INTO {_target(kind, chance)} ({_names(kind)}) SELECT * FROM gone{limit}"
    )


def _move_and_fill(kind: Kind, chance: Random) -> str:
    first = kind.key[0]
    old, new = chance.choice(first.literals), chance.choice(first.literals)
    others = ", ".join([old, *(column.name for column in kind.columns[1:])])
    return (
        f"WITH moved AS (UPDATE {_target(kind, chance)} SET {first.name} = {new} WHERE {first.name} = {old}"
        f" RETURNING {_names(kind)}) INSERT INTO {_target(kind, chance)} ({_names(kind)}) SELECT {others} FROM moved"
    )


def _merge(kind: Kind, chance: Random) -> str:
    names = _names(kind)
    same = " AND ".join(f"t.{column.name} = s.{column.name}" for column in kind.key)
    fresh = ", ".join(f"s.{column.name}" for column in kind.columns)
    source = f"SELECT * FROM (VALUES {_rows(kind, chance)}) s ({names})"
    values = ", ".join(f"s.{column.name}" for column in kind.columns)
    cast = f"SELECT {names} FROM public.{kind.name} WHERE false UNION ALL ({source})"
    return (
        f"MERGE INTO {_target(kind, chance)} t USING (SELECT row_number() OVER () AS nth, x.* FROM ({cast}) x) s"
        f" ON {same} WHEN MATCHED AND s.nth % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET {_set(kind, chance)}"
        f" WHEN NOT MATCHED AND s.nth < 4 THEN INSERT ({names}) VALUES ({values or fresh})"
    )


def _block(kind: Kind, chance: Random) -> str:
    inner = "; ".join(statement_of(SIMPLE, kind, chance) for _ in range(2))
    return (
        f"DO $do$ BEGIN {statement_of(SIMPLE, kind, chance)};"
        f" BEGIN {inner}; RAISE 'no'; EXCEPTION WHEN OTHERS THEN NULL; END;"
        f" BEGIN {statement_of(SIMPLE, kind, chance)}; EXCEPTION WHEN unique_violation THEN NULL; END; END $do$"
    )


def _array_update(kind: Kind, chance: Random) -> str:
    key, value = kind.key[0], chance.choice(kind.values)
    pairs = {_literal(key, chance): _literal(value, chance) for _ in range(6)}
    numbers = ", ".join(map(str, range(len(pairs))))
    cases = " ".join(f"WHEN {number} THEN {text}" for number, text in enumerate(pairs.values()))
    return (
        f"UPDATE {_target(kind, chance)} t SET {value.name} = CASE x.n {cases} END"
        f" FROM unnest(ARRAY[{', '.join(pairs)}], ARRAY[{numbers}]) x (k, n) WHERE t.{key.name} = x.k"
    )


def _lock(kind: Kind, chance: Random) -> str:
    strength = chance.choice(("UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"))
    return f"SELECT 1 FROM {_target(kind, chance)} WHERE {_some(kind, chance)} FOR {strength}"


def statement_of(verbs: tuple[Callable[[Kind, Random], str], ...], kind: Kind, chance: Random) -> str:
    """One statement of some of the verbs."""
    return chance.choice(verbs)(kind, chance)


SIMPLE = (_upsert, _do_nothing, _delete, _update, _move, _shift)
VERBS = (
    *SIMPLE,
    _insert,
    _upsert_moving,
    _reinsert,
    _move_and_fill,
    _merge,
    _block,
    _array_update,
    _lock,
    _upsert,
)
