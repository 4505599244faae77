"""What is well, what is worth a note and what is a warning."""

import re
from dataclasses import replace

import pytest

from stepwell.core import doctor
from stepwell.core.doctor import (
    Finding,
    HolderFacts,
    Level,
    RoleFacts,
    RunFacts,
    ServerFacts,
    TableFacts,
    WatchedFacts,
)
from stepwell.core.past import Certainty, Verdict

SERVER = ServerFacts("18.4", False, False, 0.1, 0.01, "UTC", 97, 5)
ROLE = RoleFacts("alice", False, False, False, (), False, (), 0, 0, 0)
WATCHED = WatchedFacts(
    "shop", "orders", Verdict(Certainty.EXACT), 7, 8192, None, False, True, (), owner="ada", gone=False
)
TABLES = [TableFacts("agent_steps", True, True, False, 0), TableFacts("agent_runs", True, True, False, 0)]


def bad(findings: list[Finding]) -> list[Finding]:
    return [each for each in findings if each.level is not Level.OK]


def test_what_is_well_gives_no_remedy() -> None:
    found = [
        *doctor.on_server(SERVER),
        *doctor.on_role(ROLE),
        doctor.on_isolation("SERIALIZABLE READ ONLY DEFERRABLE", ()),
        *doctor.on_schema((), TABLES, ""),
        doctor.on_runs(RunFacts(0, 0)),
        *doctor.on_watched(WATCHED),
        *doctor.on_bypasses((), ()),
        *doctor.on_holders(()),
    ]
    assert bad(found) == []
    assert all(not each.remedy for each in found)


@pytest.mark.parametrize(
    ("facts", "level", "words"),
    [
        (replace(SERVER, standby=True), Level.NOTE, "locks cannot be seen"),
        (replace(SERVER, pooled=True), Level.NOTE, "a pooler in transaction mode is between"),
        (replace(SERVER, skew=-3.5), Level.WARN, r"3\.50 s behind this one .* mislead"),
        (replace(SERVER, used=90), Level.WARN, "90 of 97 connections"),
    ],
)
def test_a_fault_of_the_server_is_named(facts: ServerFacts, level: Level, words: str) -> None:
    (found,) = bad(list(doctor.on_server(facts)))
    assert found.level is level
    assert found.remedy
    assert re.search(words, found.text)


def test_a_difference_of_clocks_that_may_be_the_network_is_none() -> None:
    assert bad(list(doctor.on_server(replace(SERVER, skew=3.5, unsure=2.0)))) == []


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            replace(ROLE, superuser=True, owner=True, writes=True, powers=("CREATEDB",)),
            "alice is a superuser;",
        ),
        (replace(ROLE, owner=True, writes=True), "alice owns the tables;"),
        (replace(ROLE, writes=True, powers=("BYPASSRLS",)), "alice may write and has BYPASSRLS;"),
        (replace(ROLE, reaching=("dblink",)), "alice may call functions of dblink,"),
    ],
)
def test_what_a_role_may_do_too_much_is_a_note(facts: RoleFacts, words: str) -> None:
    (found,) = bad(list(doctor.on_role(facts)))
    assert (found.level, found.text.startswith(words)) == (Level.NOTE, True)


def test_the_limits_of_the_role_are_told() -> None:
    *_, found = doctor.on_role(replace(ROLE, read_only=True, statement_ms=5000))
    assert found.text.startswith("of the role's own: statement 5000 ms, READ ONLY by default;")


def test_a_move_that_is_kept_waiting_is_a_warning_and_on_a_standby_a_note() -> None:
    waiting = doctor.on_isolation(
        "REPEATABLE READ READ ONLY", ["no safe snapshot in 1000 ms behind shop (pid 4)"]
    )
    assert (waiting.level, "behind shop" in waiting.text) == (Level.WARN, True)
    assert doctor.on_isolation("REPEATABLE READ READ ONLY", ["standby"]).level is Level.NOTE


def test_tables_that_are_missing_old_or_shut_are_told_with_what_helps() -> None:
    gone = [replace(table, there=False, readable=False) for table in TABLES]
    (found,) = doctor.on_schema((1, 2), gone, "")
    assert (found.level, found.remedy) == (Level.WARN, "stepwell init")
    (bare,) = bad(list(doctor.on_schema((7,), [TABLES[0], gone[1]], "")))
    assert bare.level is Level.NOTE
    (old,) = bad(list(doctor.on_schema((6, 7), TABLES, "")))
    assert (old.level, "6, 7" in old.text) == (Level.NOTE, True)
    shut, columns = bad(
        list(doctor.on_schema((), [replace(TABLES[0], readable=False)], "agent_steps lacks seed"))
    )[::-1]
    assert (shut.level, columns.text) == (Level.WARN, "agent_steps lacks seed")


def test_a_watched_table_that_is_not_whole_is_a_warning() -> None:
    doubt = Verdict(Certainty.UNCERTAIN, "a trigger was dropped")
    (found,) = doctor.on_watched(replace(WATCHED, now=doubt))
    assert (found.level, found.remedy) == (Level.WARN, "stepwell watch shop.orders")
    shut = Verdict(Certainty.UNKNOWN, "this role may not read its log")
    (found,) = doctor.on_watched(replace(WATCHED, now=shut))
    assert found.remedy == "GRANT SELECT ON shop.orders to this role, then stepwell watch shop.orders as ada"
    told = Verdict(Certainty.UNKNOWN, "column a is gone; stepwell watch shop.orders")
    (found,) = doctor.on_watched(replace(WATCHED, now=told))
    assert found.remedy == ""
    gone = Verdict(Certainty.UNKNOWN, "the table was dropped")
    (found,) = doctor.on_watched(replace(WATCHED, name="Odd!", now=gone, as_writer=False, gone=True))
    assert (found.level, found.remedy) == (Level.WARN, "stepwell unwatch 'shop.\"Odd!\"'")


def test_whom_the_trigger_runs_as_and_who_may_not_read_both_is_told() -> None:
    _, power, readers = doctor.on_watched(
        replace(WATCHED, as_superuser=True, as_writer=False, unmatched=("bob",))
    )
    assert (power.level, readers.level) == (Level.WARN, Level.WARN)
    assert readers.text == "shop.orders: bob may read either the table or its log, and not both"
    _, own = doctor.on_watched(replace(WATCHED, as_writer=False))
    assert own.level is Level.NOTE


def test_only_some_names_are_told_of_many() -> None:
    views, functions = doctor.on_bypasses([f"v{n}" for n in range(9)], ["f()"])
    assert views.text.endswith("v0, v1, v2, v3 and 5 more")
    assert functions.text.endswith("f()")


def test_who_holds_up_others_is_a_warning() -> None:
    (found,) = doctor.on_holders([HolderFacts("shop (pid 7)", 1234.5, True)])
    assert found.level is Level.WARN
    assert found.text.startswith("a serializable transaction of shop (pid 7) is open for 1234 s")
