"""The debugger with the agent's own code, and `$EDITOR`, in a real terminal."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app import desk
from tests.conftest import create_database, drop_database
from tests.e2e.conftest import STEPWELL
from tests.e2e.terminal import Terminal, is_running, wait_until

NOISE = r'print("\x1b[2J\x1b[31mnoise\x07"); print("more", file=__import__("sys").stderr)'
HANG = "            import threading; threading.Event().wait()\n"
"""Once a tool has answered."""


@pytest.fixture(scope="module")
def desk_dsn(server: str, schema_template: str) -> Iterator[str]:
    conninfo = create_database(server, schema_template)
    desk.record(conninfo)
    yield conninfo
    drop_database(server, conninfo)


@pytest.fixture
def at_desk(terminal: Callable[..., Terminal], desk_dsn: str, tmp_path: Path) -> Terminal:
    """A shell in the folder of the agent; `$DSN` is the database of its run."""
    desk.write(tmp_path)
    opened = terminal("bash", "--norc", "--noprofile", DSN=desk_dsn)
    opened.wait_for("$")
    opened.line(f"cd {tmp_path}; export EDITOR='sed -i s/8177/9999/'; clear")
    opened.wait_for_prompt()
    return opened


def children(pid: int) -> list[int]:
    """The processes that a process has started, and that these have."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            own = int(stat.parent.name)
            found += [own, *children(own)]
    return found


def test_the_fix_is_tried_while_the_debugger_is_open(at_desk: Terminal, tmp_path: Path) -> None:
    """A changed agent diverges; mended, the next key says that it is the same. The terminal shows none of its noise."""
    changed = ("**given)", '**({**given, "limit": 20} if "limit" in given else given))')
    desk.write(tmp_path, changed, ('print(f"{len(messages)} messages")', NOISE))
    at_desk.line('stepwell --dsn "$DSN" de5c:7 --agent desk:main')
    at_desk.wait_for("AGENT diverged at 5")
    at_desk.type("o")
    screen = at_desk.wait_until_still(r"\x1b[2J\x1b[31mnoise\x07", "[AGENT] printed")
    assert screen[0].startswith("refund-desk de5c  OK")
    at_desk.type("D", "D")
    at_desk.wait_for("DIVERGED at 5", "- limit: 50", "+ limit: 20")
    desk.write(tmp_path)
    at_desk.type("q", "n")
    at_desk.wait_for("AGENT same to 6", "agent to 6: ")
    at_desk.type("q", "q")
    at_desk.wait_for_prompt()


def test_an_agent_that_hangs_is_left_with_the_debugger(at_desk: Terminal, tmp_path: Path) -> None:
    """Moves go on meanwhile, and no process of it stays."""
    asked = '            if name == "get_customer":\n'
    desk.write(tmp_path, (asked, HANG + asked))
    at_desk.line('stepwell --dsn "$DSN" de5c:1 --agent desk:main')
    at_desk.wait_for("AGENT same to 1")
    at_desk.type("n")
    at_desk.wait_for("AGENT running", "2/8 25% after")
    at_desk.type("n")
    at_desk.wait_for("3/8 38% after")
    (shell,) = [
        pid
        for pid in children(at_desk.pid)
        if b"bash" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    ]
    started = children(shell)
    assert len(started) >= 3
    at_desk.type("C-c")
    at_desk.wait_for("AGENT cancelled")
    at_desk.type("q")
    at_desk.wait_for_prompt()
    wait_until(lambda: not any(map(is_running, started)), lambda: f"still there: {started}")


def test_an_output_is_edited_in_the_users_own_editor(at_desk: Terminal) -> None:
    """And saved as a branch, which the list of runs then has beside its run."""
    at_desk.line('stepwell --dsn "$DSN" de5c:5')
    at_desk.wait_for("5/8 62% after")
    at_desk.type("E")
    at_desk.wait_for("WHAT-IF de5c@5 unsaved", "9999", "stale from 6")
    at_desk.type("W")
    screen = at_desk.wait_until_still("BRANCH of de5c@5", "9999")
    branch = re.findall(r"refund-desk (\w+)", screen[0])[0]
    at_desk.type("q")
    at_desk.wait_for_prompt()
    at_desk.line('clear; stepwell --dsn "$DSN"')
    at_desk.wait_for("branch   |- refund-desk", f"{branch} ---", "fork  from de5c:5")
    at_desk.type("q")
    at_desk.wait_for_prompt()


def test_an_editor_that_leaves_no_json_loses_nothing(at_desk: Terminal) -> None:
    """What it left is in the pane, the cursor at the mistake."""
    at_desk.line("export EDITOR='sed -i s/8177,/8177,,/'; clear")
    at_desk.line('stepwell --dsn "$DSN" de5c:5')
    at_desk.wait_for("5/8 62% after")
    at_desk.type("E")
    at_desk.wait_for("this is no JSON: line 8", '"id": 8177,,', "Esc done")
    at_desk.type("C-c", "q")
    at_desk.wait_for_prompt()


REFUSED = [
    ("--agent desk", "an agent reads package.module:callable, not 'desk'"),
    ("--agent desk.py:main", "an agent is named by its module, not by a file: desk:main"),
    ("--agent desk:main --python /nowhere", "/nowhere is neither a Python interpreter nor"),
    ("--agent desk:main --timeout 0", "a timeout is a number of seconds above 0"),
    (f"--python {STEPWELL[0]}", "--python goes with --agent package.module:callable"),
]


def test_an_agent_that_cannot_be_is_told_before_the_terminal_is_taken(at_desk: Terminal) -> None:
    """One line and status 2."""
    for number, (words, says) in enumerate(REFUSED):
        at_desk.line(f'clear; stepwell --dsn "$DSN" de5c {words}; echo "{number}: status $?"')
        screen = at_desk.wait_until_still(f"{number}: status 2")
        assert says in " ".join("".join(screen).split())
