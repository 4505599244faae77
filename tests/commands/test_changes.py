"""What a step changed in watched tables, as `stepwell replay` prints it."""

import json

import pytest

from tests.app import watched
from tests.app.watched import BARE, DOUBT, HOSTILE, REFUND, SYNC, WATCHED
from tests.commands.cases import stepwell

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def filled(schema_dsn: str) -> str:
    watched.fill(schema_dsn)
    return schema_dsn


def test_replay_tells_the_changes_and_who_made_them(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "replay", f"{WATCHED}:{REFUND}") == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index(f"tables, 2 rows, before to after {REFUND}")
    assert "orders 8841  status new -> refunded  total 41.50 -> 0.00" in lines[at + 1]
    assert lines[at + 1].endswith("this run")
    assert "stock lamp  held 3 -> 4" in lines[at + 2]
    assert "another: warehouse-sync (" in lines[at + 2]
    assert stepwell(filled, "replay", f"{WATCHED}:{HOSTILE}") == 0
    assert "\x1b" not in capsys.readouterr().out
    for quiet in ("1", str(BARE), str(DOUBT), f"{REFUND} --asked"):
        assert stepwell(filled, "replay", str(WATCHED), "--to", *quiet.split()) == 0
        assert "tables, " not in capsys.readouterr().out


def test_replay_as_json_has_rows_as_postgres_writes_them(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "replay", f"{WATCHED}:{SYNC}", "--json") == 0
    orders, stock = json.loads(capsys.readouterr().out)["tables"]
    assert (orders["schema"], orders["name"], orders["certainty"], orders["why"], orders["more"]) == (
        "public", "orders", "exact", "", 0,
    )  # fmt: skip
    added, deleted = orders["changes"]
    new = {"id": "9001", "item": "漢字", "status": "new", "total": "12.50", "note": None}
    assert (added["key"], added["old"], added["new"]) == ({"id": "9001"}, None, new)
    assert (added["who"], added["mine"]) == ("warehouse-sync", None)
    assert isinstance(added["pid"], int)
    assert (deleted["old"]["item"], deleted["new"]) == ("lamp 17", None)
    assert (stock["name"], stock["changes"]) == ("stock", [])
    assert stepwell(filled, "replay", f"{WATCHED}:{REFUND}", "--json") == 0
    orders, stock = json.loads(capsys.readouterr().out)["tables"]
    assert [change["mine"] for change in (*orders["changes"], *stock["changes"])] == [True, False]


def test_what_is_not_known_says_why(filled: str, capsys: Capture) -> None:
    assert stepwell(filled, "replay", f"{WATCHED}:{BARE}", "--json") == 0
    orders, _ = json.loads(capsys.readouterr().out)["tables"]
    assert (orders["certainty"], orders["changes"]) == ("unknown", [])
    assert orders["why"] == "this step was recorded without a snapshot"
    assert stepwell(filled, "replay", f"{WATCHED}:{REFUND}", "--asked", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tables"] is None
