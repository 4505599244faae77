"""A text in lines that are laid out: found across rows, and shown in reverse."""

import json
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.app.marking import Part, marked, occurrences
from stepwell.app.present import (
    Line,
    Role,
    Row,
    Rows,
    Span,
    arguments_document,
    clean,
    json_rows,
    line_text,
    raw,
    rows,
)
from stepwell.app.present import lines as all_lines


def line(text: str) -> Line:
    return (Span(text),)


def found(lines: list[Line], mark: str, width: int = 10) -> list[Part]:
    return [part for parts in occurrences(lines, mark, width) for part in parts]


def reversed_in(lines: list[Line], mark: str, width: int = 10) -> list[str]:
    """The marked texts, line by line."""
    return [span.text for line in marked(lines, mark, width) for span in line if span.role is Role.CURSOR]


def test_every_occurrence_of_a_line_is_found() -> None:
    assert found([line("ab cab"), line("none"), line("ab")], "ab") == [
        Part(0, 0, 2), Part(0, 4, 6), Part(2, 0, 2),
    ]  # fmt: skip


def test_case_is_folded_as_by_a_search() -> None:
    """A text without capitals matches either case, one with capitals itself."""
    assert reversed_in([line("Ada ada ADA")], "ada", 20) == ["Ada", "ada", "ADA"]
    assert reversed_in([line("Ada ada ADA")], "Ada", 20) == ["Ada"]


def test_a_text_that_is_wrapped_is_found_where_it_begins() -> None:
    """Also over more than two rows, and behind an indentation."""
    assert found([line("01234567ab"), line("cd")], "abcd") == [Part(0, 8, 10), Part(1, 0, 2)]
    rows = list(all_lines(raw("0123456789" * 3 + "the needle in here" + "x" * 20, 8)))
    assert "".join(reversed_in(rows, "the needle in here", 8)) == "the needle in here"
    indented = [line("---- ab cd"), (Span("    "), Span("ef gh"))]
    assert reversed_in(indented, "cdef") == ["cd", "ef"]


def test_a_line_that_is_not_full_ends() -> None:
    """What follows it was never one text with it."""
    assert found([line("ab"), line("cd")], "abcd") == []


def test_a_wide_character_that_did_not_fit_leaves_a_cell() -> None:
    assert reversed_in([line("012345678"), line("漢字")], "8漢") == ["8", "漢"]


@pytest.mark.parametrize("shown", ['say \\"hi\\"', 'say "hi"'])
def test_a_text_is_found_as_it_reads_and_as_json_spells_it(shown: str) -> None:
    assert reversed_in([line(shown)], 'say "hi"', 40) == [shown]


def test_what_is_spelled_out_is_found_by_what_it_stands_for() -> None:
    """Panes show no control characters."""
    assert reversed_in([line("a\\x1b[2J")], "\x1b[2J", 40) == ["\\x1b[2J"]


def test_spans_are_split_and_keep_their_roles() -> None:
    """And their text, all of it."""
    given = (Span('"id"', Role.KEY), Span(": "), Span("88412", Role.NUMBER))
    (shown,) = marked([given], "8841", 20)
    assert shown == (*given[:2], Span("8841", Role.CURSOR), Span("2", Role.NUMBER))
    (shown,) = marked([given], '": 8', 20)
    assert line_text(shown) == line_text(given)
    assert [span.text for span in shown if span.role is Role.CURSOR] == ['"', ": ", "8"]


def test_without_a_mark_lines_stay_as_they_are() -> None:
    given = [line("ab")]
    assert marked(given, "", 10) == given


@pytest.mark.parametrize("mark", ["id=88", '"id": 88', 'id:"88', '"id":"88'])
def test_a_member_is_marked_in_json_in_a_call_and_in_a_table(mark: str) -> None:
    """A value that is not quoted is also that of a string; another key that ends so is another one."""
    shown = [
        '"id": "88"',
        '{"id":"88"}',
        'get(id="88")',
        'id            "88"',
        '"uid": "88"',
        'get(uid="88")',
        "id 88",
    ]
    assert reversed_in([line(each) for each in shown], mark, 80) == [
        '"id": "88', '"id":"88', 'id="88', 'id            "88',
    ]  # fmt: skip


def test_a_member_whose_string_is_shown_as_it_reads_is_marked() -> None:
    """As panes do with one that is too long for a row."""
    assert reversed_in([line('"a": "say "hi" to')], r'"a": "say \"hi', 80) == ['"a": "say "hi']
    assert reversed_in([line('"a": "say "hi" to')], 'a=say "hi', 80) == ['"a": "say "hi']


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=6),
        st.text(max_size=9) | st.integers() | st.none(),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["{}: {}", "{}:{}", "{}={}"]),
    st.sampled_from([json_rows, lambda text, width: rows(arguments_document(json.loads(text), width))]),
)
def test_every_member_that_stands_on_one_line_is_marked(
    value: dict[str, object], form: str, laid_out: Callable[[str, int], Iterable[Row]]
) -> None:
    """With its key and value as JSON spells them. A table cuts a long key."""
    shown = list(all_lines(Rows(laid_out(json.dumps(value, ensure_ascii=False), 200))))
    for key, inner in value.items():
        if "\n" not in f"{key}{inner}" and len(clean(key)) < 18:
            mark = form.format(*(json.dumps(each, ensure_ascii=False) for each in (key, inner)))
            assert reversed_in(shown, mark, 200)
