"""What the colon takes, and what it says of anything else."""

import pytest

from stepwell.app.commandline import (
    COMMANDS,
    Break,
    Command,
    Delete,
    FoldAll,
    Goto,
    Leave,
    Look,
    Toggle,
    parse_command,
)
from stepwell.core.address import Address, Clock, Number, Offset, Percent
from stepwell.core.breakpoints import OnError, OnLap, OnName, OnType
from stepwell.core.world import Moment
from stepwell.errors import UsageError


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("17", Goto(Number(17))),
        (" 50% ", Goto(Percent(50))),
        ("@11:42", Goto(Clock(11, 42))),
        ("@+90s", Goto(Offset(90))),
        ("7f3a:17", Goto(Address("7f3a", Number(17)))),
        ("@failed", Goto(Address("@failed"))),
        ("beef", Goto(Address("beef"))),
        ("b:3", Goto(Address("b", Number(3)))),
        ("break", Break(None)),
        ("b name:search orders", Break(OnName("search orders"))),
        ("break type:tool_call", Break(OnType("tool_call"))),
        ("br lap:3", Break(OnLap(3))),
        ("delete error", Delete(OnError())),
        ("del", Delete(None)),
        ("asked", Look(Moment.ASKED)),
        ("AF", Look(Moment.AFTER)),
        ("fold", FoldAll(True)),
        ("u", FoldAll(False)),
        ("follow", Toggle("follow")),
        ("di", Toggle("diff")),
        ("raw", Toggle("raw")),
        ("w", Toggle("whole")),
        ("h", Leave("help")),
        ("q", Leave("quit")),
        ("runs", Leave("runs")),
    ],
)
def test_a_place_or_a_command_by_any_unique_beginning(text: str, command: Command) -> None:
    assert parse_command(text) == command


def test_every_command_that_is_told_of_is_there() -> None:
    for name in COMMANDS:
        parse_command(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_hides_the_four_digits_by_which_runs_are_shown(name: str) -> None:
    assert not all(letter in "0123456789abcdef" for letter in name[:4])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "go to 17, 50%, @11:42, @+90s or RUN:17, or break, delete"),
        ("fo", "fo begins follow and fold"),
        ("d", "d begins delete and diff"),
        ("frobnicate", "no command 'frobnicate': break, delete, follow"),
        ("raw 3", "raw takes no argument, not '3'"),
        ("break nmae:x", "one of name, type, error, lap"),
        ("break lap:none", "lap: needs a number"),
        ("150%", "cannot go to '150%'"),
        ("dead beef", "no command 'dead'"),
    ],
)
def test_errors_are_one_line_that_names_what_there_is(text: str, words: str) -> None:
    with pytest.raises(UsageError) as problem:
        parse_command(text)
    assert words in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_screen_with_fewer_commands_names_those_alone() -> None:
    offered = ("follow", "quit")
    assert parse_command("fo", offered) == Toggle("follow")
    assert parse_command("d", offered) == Delete(None)
    for text in ("", "frobnicate"):
        with pytest.raises(UsageError, match="follow, quit") as problem:
            parse_command(text, offered)
        assert "break" not in str(problem.value)
