"""Which letters the terminal's language has: in one that is not UTF-8, ASCII is all that is written."""

import os

import pytest

from stepwell.core.recording import storable
from stepwell.settings import language_encoding
from tests.commands.cases import shell
from tests.hostile import TEXTS, record


@pytest.mark.parametrize(
    ("env", "utf8_mode", "encoding"),
    [
        ({}, True, None),
        ({"LANG": "C.UTF-8"}, False, None),
        ({"LANG": "de_DE.utf8"}, False, None),
        ({"LANG": "C"}, True, "ascii"),
        ({"LANG": "de_DE.ISO-8859-1"}, False, "ascii"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, True, "ascii"),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, False, None),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False, None),
        ({"LANG": "C", "PYTHONIOENCODING": "utf-8"}, True, None),
    ],
)
def test_the_language_is_that_of_the_environment(
    env: dict[str, str], utf8_mode: bool, encoding: str | None
) -> None:
    assert language_encoding(env, utf8_mode=utf8_mode) == encoding


def test_what_python_puts_there_itself_is_not_the_users_word() -> None:
    """It does where the system has no such language: that of the SSH client's machine, say."""
    assert language_encoding({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, utf8_mode=True) == "ascii"
    assert language_encoding({"LANG": "sv_SE.UTF-8", "LC_CTYPE": "C.UTF-8"}, utf8_mode=True) is None


@pytest.mark.parametrize("language", ["LANG", "LC_ALL"])
def test_commands_spell_out_what_the_language_lacks(schema_dsn: str, language: str) -> None:
    """The columns of a table stay under each other."""
    run = record(schema_dsn, [TEXTS["wide"], "naïve"])
    env = {name: value for name, value in os.environ.items() if name != "LANG"} | {language: "C"}
    shown = shell("show", f"{run}:1", "--dsn", schema_dsn, env=env)
    assert (shown.returncode, shown.stdout.isascii()) == (0, True)
    assert storable(TEXTS["wide"]).encode("ascii", "backslashreplace") in shown.stdout
    table = shell("steps", str(run), "--dsn", schema_dsn, env=env).stdout.decode("ascii").splitlines()
    assert {
        line[line.index(word) - 1] for line in table[1:] for word in (r"\u6f22", r"na\xefve") if word in line
    } == {" "}
