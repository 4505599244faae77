"""A run of hostile writers against watched tables, observed, and compared with what the past is said to have been."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from threading import Event, Thread

import psycopg
from psycopg.conninfo import conninfo_to_dict

from stepwell.errors import DatabaseError
from stepwell.store import watching
from tests.asof.compare import LookBack, Tally, compare, read_origin
from tests.asof.folds import fold
from tests.asof.kinds import Connection, Kind, create, kinds
from tests.asof.looking import look_back
from tests.asof.seen import Observer, Seen, Sights
from tests.asof.writers import Writer
from tests.threads import running

WRITERS = 8
OBSERVERS = 2
BEFORE = 8
"""How many snapshots are seen of tables that are not watched yet, at least."""
LIMIT = 120.0
"""Seconds after which a siege ends with what it has."""
REWRITES = (
    'VACUUM FULL "odd ""name"; VACUUM FULL hashed; VACUUM FULL neighbours; CLUSTER made USING made_pkey',
    "ALTER TABLE plain ALTER qty TYPE bigint; ALTER TABLE clearing ALTER qty TYPE bigint USING qty * 2",
    "TRUNCATE words; TRUNCATE ranged; TRUNCATE eaters",
    "ALTER TABLE eaters DISABLE TRIGGER USER",
)


@dataclass(frozen=True)
class Product:
    """What is besieged."""

    watch: Callable[[Connection, str], object] = watching.watch
    look_back: Sequence[LookBack] = (look_back, partial(look_back, fast=False))
    """Ways to look back, which must agree."""


PRODUCT = Product()


@dataclass
class Outcome:
    """What a siege found."""

    tally: Tally = field(default_factory=Tally)
    committed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    folded: int = 0
    """How many states of tables were reached by adding up changes."""
    unfolded: list[str] = field(default_factory=list)
    """Those that were not."""


def besiege(
    conninfo: str,
    *,
    seed: int,
    snapshots: int,
    rewriting: bool = False,
    thorough: bool = False,
    product: Product = PRODUCT,
) -> Outcome:
    """Write, watch, look and compare on an empty database until so many snapshots of watched tables were seen.

    `rewriting` has the owner rewrite and empty tables towards the end. `thorough` compares each snapshot by each way to
    look back, instead of by one of them.
    """
    outcome = Outcome()
    role = f"{conninfo_to_dict(conninfo)['dbname']}_writer"
    with psycopg.connect(conninfo, autocommit=True) as owner:
        some = kinds(owner)
        create(owner, some, role)
        try:
            sights = Sights()
            with _under_way(conninfo, some, seed, sights, role, outcome) as looking:
                _wait_for(sights, BEFORE)
                for kind in some:
                    _insist(partial(product.watch, owner, f"public.{kind.name}"))
                looking.set()
                outcome.tally.since = _next_transaction(owner)
                with _comparing(conninfo, some, seed, sights, product, outcome.tally):
                    _own(owner, some, sights, snapshots, Random(seed), rewriting=rewriting)
            seen = sights.all()[-snapshots - BEFORE :]
            for number, look_back in enumerate(product.look_back):
                part = seen if thorough else seen[number :: len(product.look_back)]
                _compare(conninfo, some, part, look_back, outcome.tally, seed)
            plain = [each.instant for each in seen if each.observer == 0]
            outcome.folded, outcome.unfolded = fold(owner, plain, read_origin(owner))
        finally:
            owner.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')
    return outcome


@contextmanager
def _under_way(
    conninfo: str, some: Sequence[Kind], seed: int, sights: Sights, role: str, outcome: Outcome
) -> Iterator[Event]:
    """Writers and observers; gives the event that has writers look at what they have written."""
    stop, looking = Event(), Event()
    writers = [
        Writer(
            conninfo,
            some,
            f"{seed}-{number}",
            sights,
            stop=stop,
            looking=looking,
            role=role if number % 2 else None,
        )
        for number in range(WRITERS)
    ]
    observers = [
        Observer(conninfo, some, (seed, number), stop, sights, pause=0.05) for number in range(OBSERVERS)
    ]
    with running([*writers, *observers], stop):
        yield looking
    for writer in writers:
        outcome.committed += writer.committed
        outcome.failures += Counter(writer.failures)


@contextmanager
def _comparing(
    conninfo: str, some: Sequence[Kind], seed: int, sights: Sights, product: Product, tally: Tally
) -> Iterator[None]:
    """Compare some of what was seen while it is still being written."""
    stop = Event()

    def work() -> None:
        chance = Random(seed)
        while not stop.is_set():
            picked = chance.sample(sights.all(), 1)
            _compare(conninfo, some, picked, chance.choice(product.look_back), tally, seed)
            stop.wait(0.05)

    with running([Thread(target=work, name="comparer", daemon=True)], stop):
        yield


def _compare(
    conninfo: str, some: Sequence[Kind], seen: Sequence[Seen], look_back: LookBack, tally: Tally, seed: int
) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        tally.add(compare(connection, seen, some, look_back, seed=f"{seed}", since=tally.since))


def _own(
    owner: Connection,
    some: Sequence[Kind],
    sights: Sights,
    snapshots: int,
    chance: Random,
    *,
    rewriting: bool,
) -> None:
    """What an owner does while the tables are in use, spread over the time until there are enough snapshots."""
    began = len(sights)
    chores = [kind.later for kind in some if kind.later]
    chores += [f"VACUUM (FREEZE) {kind.name}" for kind in chance.sample(some, 3)]
    chores += ["ANALYZE", "VACUUM", "REINDEX TABLE plain", "CHECKPOINT"]
    chance.shuffle(chores)
    if rewriting:
        chores += REWRITES
    for number, chore in enumerate(chores, 1):
        _wait_for(sights, began + number * snapshots // (len(chores) + 1))
        for statement in chore.split("; "):
            _insist(partial(owner.execute, statement.encode()))
    _wait_for(sights, began + snapshots)


def _insist(act: Callable[[], object]) -> object:
    """Try until the writers let it through."""
    until = time.monotonic() + LIMIT
    while True:
        try:
            return act()
        except (psycopg.errors.DeadlockDetected, DatabaseError):
            if time.monotonic() > until:
                raise


def _wait_for(sights: Sights, number: int) -> None:
    """Wait until so many snapshots were seen, or for too long."""
    until = time.monotonic() + LIMIT
    while len(sights) < number and time.monotonic() < until:
        time.sleep(0.01)


def _next_transaction(connection: Connection) -> int:
    found = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
    assert found is not None
    return int(str(found[0]))
