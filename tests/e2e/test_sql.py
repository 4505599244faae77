"""SQL at a step, in a real terminal."""

from collections.abc import Callable

from tests.e2e.conftest import STEPWELL
from tests.e2e.terminal import RawTerminal, Terminal


def test_a_query_its_rows_and_one_that_is_cancelled(shell: Terminal) -> None:
    shell.line('stepwell --dsn "$DSN" @failed:11')
    shell.wait_for("11/52 21% after")
    shell.type("s")
    opened = shell.wait_until_still("[SQL]---", "Enter run")
    assert opened[0].startswith("SQL at ")
    assert ":11 after" in opened[0]
    shell.line("select step_type, count(*) from agent_steps where step_number < 5 group by 1 order by 1")
    shown = shell.wait_until_still("ROWS- 3 rows", "rolled back")
    assert shown[shown.index("  step_type     count") + 2].split() == ["state_update", "5"]
    shell.type("Tab", "j", "Enter")
    shell.wait_for("[ROWS] row 2 of 3", "step_type  state_update", "count      5")
    shell.type("q", "Tab")
    shell.line("select pg_sleep(20)")
    shell.wait_for("running for 1 s… Ctrl-C cancels")
    shell.type("C-c")
    shell.wait_for("cancelled", "select pg_sleep(20)")
    shell.type("C-c", "C-d")
    shell.wait_for("11/52 21% after", "n/p step")
    shell.type("q")
    shell.wait_for_prompt()


def test_keys_that_come_before_the_editor_are_typed_into_it(
    raw: Callable[..., RawTerminal], recorded: str
) -> None:
    """And Alt-Enter, which sends ESC and Enter, is a new line."""
    debugger = raw(*STEPWELL, "--dsn", recorded, "@failed")
    debugger.wait_for(b"1/52")
    debugger.send(b"sselect 'q' ||\x1b\r'uite' as all;\r")
    debugger.wait_for(b"1 row: select 'q' || 'uite' as all;", b"quite")
    debugger.send(b"\tqq")
    assert debugger.wait() == 0
