"""The demo's story, from the shell prompt and back to it, at 80 columns and 24 lines."""

import re

from tests.e2e.terminal import Terminal

RUNS = (
    r"   STATUS   NAME               RUN   STEPS  TOOK  STARTED  WHY",
    r"> !failed   refund-triage      \w{4}     52  *[\d.]+  \w+ .*  search_orders x24, M…",
    r"  !failed   refund-approval    \w{4}      8  *[\d.]+  \w+ .*  RefundError: order.*",
    r"   ok       refund-swarm       \w{4}     19  *[\d.]+  \w+ .*  3 agents",
    r"  \?died     refund-triage      \w{4}     15 +\w+ .*  in doubt: send_email",
    r"   ok       refund-triage      \w{4}     12  *[\d.]+  \w+.*",
)
"""What the list shows of the demo, whatever its ids and times."""


def test_the_loop_of_the_demo_is_found_with_the_keyboard(shell: Terminal) -> None:
    shell.line('stepwell demo --dsn "$DSN"')
    runs = shell.wait_until_still(
        "loop  5-51 search_orders, same arguments, same result, 24 laps", "newest first"
    )
    assert runs[0].startswith("stepwell  5 runs")
    for line, wanted in zip(runs[1:7], RUNS, strict=True):
        assert re.fullmatch(wanted, line), line
    assert runs[23] == "Enter open  / filter  f failed only  F follow  y copy id  ? keys  q quit"
    short = runs[2].split()[3]

    shell.type("Enter")
    opened = shell.wait_until_still("1/52 2% after")
    assert opened[0].startswith(f"refund-triage {short}  FAILED MaxTurns  loop 24 laps from 5")
    assert opened[1] == "#TSLTL" + "tl" * 22 + "t!"

    shell.type("n", "b", "t")
    shell.wait_for("2/52 4% after  breakpoint set: every tool_call, 25 hits", "get_customer, asked by 1")
    shell.type("c")
    shell.wait_for(
        "5/52 10% after  hit every tool_call",
        ">*   5 T search_orders",
        "INPUT- search_orders, asked by 4",
        "[OUTPUT] 12.4 KB",
        "x prompt 6 holds 2,048 characters of this output",
        "STATE- after 5, unchanged",
        "SERIALIZABLE rolled back",
    )
    shell.type("c")
    shell.wait_for("7/52 13% after  hit every tool_call", "x prompt 8 holds 2,048 characters of this output")
    shell.type("C")
    shell.wait_for("5/52 10% after  hit every tool_call", "x prompt 6 holds 2,048 characters of this output")
    shell.type("C", "C")
    shell.wait_for("1/52 2% after  no further hit; '' returns")

    shell.type("50%")
    shell.wait_for("26/52 50% after", "INPUT- gpt-5-mini, 2 new of 26", "tool search_orders call_12 new")
    shell.type("/")
    shell.line("8230")
    found = shell.wait_until_still("5/52 10% after  hit 1 of 1, went round", "[OUTPUT] 12.4 KB")
    assert any('{"id": 8230' in line for line in found[9:16]), found
    shell.type("y")
    shell.wait_for(f"copied {len(short) + 2} characters: {short}:5")
    assert shell.tmux("show-buffer") == f"{short}:5"

    shell.type("q")
    shell.wait_for("newest first", "> !failed")
    shell.type("q")
    shell.wait_for_prompt()
    shell.line("echo left with $?")
    shell.wait_for("left with 0")


def test_the_row_that_another_program_changed_is_found_with_the_keyboard(shell: Terminal) -> None:
    shell.line('stepwell demo --dsn "$DSN"')
    shell.wait_for("newest first")
    shell.type("j", "Enter")
    shell.wait_for("1/8 12% after", "FAILED RefundError")
    shell.type("t", "!")
    shell.wait_for("8/8 100% after", "RefundError: order 8244 is", "TABLES] unchanged, before to after")
    shell.type("p", "p", "p")
    shell.wait_for("5/8 62% after", "status paid -> on hold", "another: warehouse-sync (")
    shell.type("s")
    shell.wait_for("SQL at", "watched tables, exact")
    shell.line("select status from orders where id = 8244")
    shell.wait_for("on hold", "exact")
    shell.type("Escape")
    shell.wait_for("5/8 62% after")
    shell.type("q")
    shell.wait_for("newest first")
    shell.type("q")
    shell.wait_for_prompt()
