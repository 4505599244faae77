"""SQL at a step: the rows of an answer, walked through, shown whole, copied."""

import os
from pathlib import Path

import pytest

from tests.app.asking import Asking, asking

HOSTILE = r"""
select E'\x1b]52;c;cm0=\x07\x1b[2J\r\u202eRTL[bold]int[] [/x]\x7f' as "a
b", repeat('x', 1000000) as a, '日本語テキスト幅', null as a, 'NULL' as a, '' as a
"""


def test_hostile_values_are_shown_and_do_nothing(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        shown = await sql.run(HOSTILE.strip() + ";")
        assert r"\x1b]52;c;cm0=\x07" in shown
        assert r"a\nb" in shown
        assert all(text.isprintable() for text in shown.splitlines())
        await sql.press("<tab>")
        await sql.press("lll")
        assert "columns 4-6/6" in sql.text or "NULL" in sql.text
        await sql.press("<enter>")
        assert r"\u202eRTL[bold]int[] [/x]\x7f" in sql.text.replace("\n  ", "")
        await sql.press("G")
        await sql.debugger.until(lambda: sql.screen.rows.position.complete)
        assert [row.split() for row in sql.text.splitlines() if row.split()[:1] == ["a"]] [-3:] == [
            ["a", "NULL"], ["a", "'NULL'"], ["a"],
        ]  # fmt: skip

    asking(recorded_dsn, act)


SHAPES = {
    "select": ("ROWS- 1 row: select", "1 row without a column"),
    "select 1 as one, 2 as one where false": ("ROWS- 0 rows", "  one  one"),
    "select n from generate_series(1, 501) n": ("ROWS- 500 rows, more: LIMIT or \\more", "1-16/500"),
    "show server_encoding": ("UTF8",),
}


def test_every_shape_of_a_result_is_told(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        for statement, wanted in SHAPES.items():
            shown = await sql.run(statement)
            for text in wanted:
                assert text in shown

    asking(recorded_dsn, act)


def test_a_thousand_columns_are_walked_through(recorded_dsn: str) -> None:
    columns = ",".join(f"{n} c{n}" for n in range(1000))

    async def act(sql: Asking) -> None:
        shown = await sql.run(f"select {columns}")
        assert "columns 1-" in shown
        assert "/1,000" in shown
        await sql.press("<tab>" + "l" * 30)
        assert sql.screen.result is not None
        assert sql.screen.result.at == (0, 30)
        assert "c30" in sql.text

    asking(recorded_dsn, act)


def test_rows_are_walked_and_one_is_shown_whole(recorded_dsn: str) -> None:
    async def act(sql: Asking) -> None:
        await sql.run(
            "select n, repeat(n::text, 60) as wide, jsonb_build_object('n', n) as info from generate_series(1, 40) n"
        )
        await sql.press("<tab>jjl")
        assert any(row.startswith(">  3") for row in sql.lines)
        await sql.press("<pagedown>")
        assert sql.screen.result is not None
        assert sql.screen.result.at.row == 18
        await sql.press("G<enter>")
        assert "[ROWS] row 40 of 40" in sql.text
        assert "40" * 39 in sql.text
        assert "40" * 60 in sql.text.replace("\n", "").replace(" ", "")
        await sql.press("q")
        assert "25-40/40" in sql.text
        assert "wi" in sql.text
        await sql.press("<pageup>kh")
        assert sql.screen.result.at == (22, 0)
        await sql.press("v")
        assert "no pager here" in sql.status
        await sql.press("g<tab>")
        assert "1-16/40" in sql.text
        assert sql.lines[-1].startswith("Enter run")

    asking(recorded_dsn, act)


def test_a_value_and_the_whole_result_are_copied(recorded_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")

    async def act(sql: Asking) -> None:
        await sql.run("""select 1 as n, 'say "hi", you' as "a,b", null as nothing, '' as blank""")
        await sql.press("<tab>lY")
        path = Path(os.environ["XDG_STATE_HOME"]) / "stepwell" / "copied.txt"
        assert path.read_text() == 'n,"a,b",nothing,blank\n1,"say ""hi"", you",,""\n'
        await sql.press("y")
        assert path.read_text() == 'say "hi", you'
        await sql.press("<tab>")
        await sql.run("select repeat('y', 1000001) as long")
        await sql.press("<tab>Y")
        assert "too large" in sql.status
        assert path.stat().st_size == len("long\n") + 1_000_002

    asking(recorded_dsn, act)
