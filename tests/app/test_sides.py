"""The two sides of a divergence as lines: what is the same next to each other, what differs marked."""

import json

import pytest

from stepwell.app.panes.divergence import Pair, Sides, pairs, sides, title_line
from stepwell.app.present import cells, line_text
from stepwell.core.divergence import Asked, Divergence, Kind
from stepwell.core.world import MISSING
from tests.app.recorded import ATTACK

BESIDE = pytest.mark.parametrize("beside", [True, False])


def found(recorded: object, now: object, kind: str = "tool_call") -> Divergence:
    one, other = (None if value is MISSING else Asked(kind, "f", None, value) for value in (recorded, now))
    return Divergence(Kind.INPUT, 5, "$", recorded, now, one, other)


def written(divergence: Divergence, width: int = 60, *, beside: bool = False) -> list[str]:
    shown = Sides(divergence, width, beside=beside)
    return [line_text(shown.line(index)) for index in range(shown.known_lines)]


def test_lines_that_are_the_same_stand_next_to_each_other() -> None:
    """Whatever is between them."""
    assert pairs(["a", "b", "c", "d"], ["a", "x", "y", "c", "d"]) == [
        Pair("a", "a"),
        Pair("b", "x"),
        Pair(None, "y"),
        Pair("c", "c"),
        Pair("d", "d"),
    ]


def test_the_order_of_keys_is_no_difference() -> None:
    """Of no object in the value."""
    divergence = found(
        {"limit": 50, "by": {"a": 1, "b": 2}}, {"by": {"b": 2, "a": 1}, "limit": 20, "more": 1}
    )
    assert sides(divergence, 60)[1] == ["limit: 20", 'by: {"a": 1, "b": 2}', "more: 1"]
    assert written(divergence) == ["- limit: 50", "+ limit: 20", '  by: {"a": 1, "b": 2}', "+ more: 1"]


def test_beside_each_other_each_row_has_both_sides_and_their_marks() -> None:
    """In as many cells as there are."""
    rows = written(found({"limit": 50, "same": True}, {"limit": 20, "same": True}), 33, beside=True)
    assert rows == ["- limit: 50     | + limit: 20", "  same: true    |   same: true"]


def test_a_prompt_is_shown_as_a_conversation() -> None:
    """Its settings above it."""
    prompt = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    other = {"model": "m", "messages": [{"role": "user", "content": "Hello you"}]}
    assert written(found(prompt, other, "llm_call")) == ['  model: "m"', "  user", "-  Hello", "+  Hello you"]


@pytest.mark.parametrize(("recorded", "now"), [(MISSING, {"a": 1}), ({"a": 1}, MISSING)])
def test_a_side_that_has_nothing_is_empty(recorded: object, now: object) -> None:
    """What was not recorded, or is never asked."""
    assert written(found(recorded, now)) == [f"{'+' if recorded is MISSING else '-'} a: 1"]


@BESIDE
def test_the_text_of_a_prompt_is_broken_into_lines_of_that_width(beside: bool) -> None:
    """Once: each is as long as it may be."""
    words = " ".join(["word"] * 100)
    prompt = {"messages": [{"role": "user", "content": words}]}
    rows = written(found(prompt, prompt, "llm_call"), 83, beside=beside)
    lengths = [len(row.split("|")[0].rstrip()) for row in rows[1:-1]]
    assert set(lengths) == {37 if beside else 82}


def test_the_title_says_where_the_agent_asked_or_raised() -> None:
    """As the command line does."""
    for kind, did in ((Kind.INPUT, "asked"), (Kind.RAISED, "raised")):
        title = line_text(title_line(Divergence(kind, 2, "$", "f", "E", where="a.py:3 in f"), "run 1", 80))
        assert title.startswith(f"DIVERGED at 2  run 1  {did} at a.py:3 in f")


@BESIDE
def test_nothing_of_it_is_acted_upon_or_wider_than_the_screen(beside: bool) -> None:
    """Escapes, wide characters and markup, in any width."""
    for width in (1, 7, 40, 101):
        for row in written(found({"x": ATTACK, "y": "語" * 50}, {"x": ATTACK * 2}), width, beside=beside):
            assert row.isprintable()
            assert width < 10 or cells(row) <= width


@BESIDE
def test_a_line_of_megabytes_is_cut_around_what_differs(beside: bool) -> None:
    """With how much is left out on either side; other values of megabytes are shown where the path leads."""
    divergence = found({"x": "y" * 900_000 + "a" + "z" * 50_000}, {"x": "y" * 900_000 + "b" + "z" * 50_000})
    rows = written(divergence, 100, beside=beside)
    assert len(rows) < 200
    text = "".join(rows)
    assert "characters …" in text.replace("\n", "")
    assert "ya" in text
    assert "yb" in text
    huge = Divergence(
        Kind.INPUT,
        5,
        "$.x[1]",
        1,
        2,
        Asked("tool_call", value=["y" * 3_000_000, 1]),
        Asked("tool_call", value=[2]),
    )
    assert written(huge) == ["- 1", "+ 2"]


def test_it_opens_at_the_first_difference_and_knows_the_others() -> None:
    """Where a key leads from one to the next."""
    old = {f"key {n}": n for n in range(100)}
    shown = Sides(found(old, old | {"key 50": 0, "key 51": 0, "key 80": 0}), 80, beside=False)
    assert shown.start_line == 48
    assert [line_text(shown.line(row))[:8] for row in shown.differences] == ["- key 50", "- key 80"]


def test_of_a_text_that_was_cut_only_what_follows_on_the_cut_differs() -> None:
    """Though the whole is JSON, which is laid out elsewhere, and what is left of it none."""
    whole = json.dumps([{"id": number, "note": "as ordered"} for number in range(100)])
    texts = [whole[:2000], whole]
    one, other = (
        Asked("llm_call", "m", None, {"messages": [{"role": "tool", "content": text}]}) for text in texts
    )
    lines = written(Divergence(Kind.INPUT, 6, "$.messages[0].content", texts[0], texts[1], one, other))
    marks = "".join(line[:1] for line in lines[1:])
    assert set(marks[: marks.index("-")]) == {" "}
    assert marks.count("-") < 4  # one line of the text
