"""Recorded values become documents: laid out as drawn, lazily, and without raising whatever they hold."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stepwell.app import present
from stepwell.app.present import Document, Mode, Role, Rows, document, json_rows, plain_text
from stepwell.app.present.code import highlight, text_rows
from stepwell.core import codec
from stepwell.core.state import path_text
from stepwell.core.world import MISSING, Change

WIDTH = 49


def shown(made: Document) -> list[str]:
    return list(plain_text(made))


def pretty(value: object, width: int = WIDTH) -> list[str]:
    return shown(document(json.dumps(value, ensure_ascii=False), None, width))


def roles(made: Document, index: int) -> dict[str, Role]:
    return {span.text.strip(): span.role for span in made.line(index)}


def test_presenting_knows_nothing_of_textual() -> None:
    script = "import stepwell.app.present, sys; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_short_element_stands_on_one_line() -> None:
    rows = [{"id": 8102 + n, "item": "lamp", "status": "ok"} for n in range(3)]
    assert pretty(rows) == [
        '[{"id": 8102, "item": "lamp", "status": "ok"},',
        ' {"id": 8103, "item": "lamp", "status": "ok"},',
        ' {"id": 8104, "item": "lamp", "status": "ok"}]',
    ]


def test_what_does_not_fit_is_broken_after_its_key() -> None:
    value = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x" * 25}}], "n": 1}
    assert pretty(value) == [
        '{"choices": [',
        '   {"index": 0,',
        '    "message": {',
        '      "role": "assistant",',
        f'      "content": "{"x" * 25}"}}}}],',
        ' "n": 1}',
    ]


def test_numbers_of_a_list_fill_their_rows() -> None:
    assert len(pretty([0.25] * 60)) == 8
    assert pretty([0.25] * 60)[-1] == " 0.25, 0.25, 0.25, 0.25]"


def test_lines_of_a_string_are_shown_as_lines() -> None:
    assert pretty({"code": "import os\n\nx = 1", "n": 2}) == [
        '{"code": """',
        "   import os",
        "",
        "   x = 1",
        '   """,',
        ' "n": 2}',
    ]
    assert pretty("first\nsecond") == ["first", "second"]
    assert pretty({"path": "C:\\new", "end": "one\n"}) == ['{"path": "C:\\\\new", "end": "one\\n"}']


def test_numbers_keep_their_spelling_whatever_their_length() -> None:
    digits = "9" * 5000
    assert "".join(row.strip() for row in shown(document(f"[1.10, 1e400, {digits}]", None, WIDTH))) == (
        f"[1.10, 1e400,{digits}]"
    )


def test_parts_of_json_have_roles() -> None:
    made = document('{"key": ["text", 1.5, null]}', None, WIDTH)
    found = roles(made, 0)
    assert [found[text] for text in ('"key"', '"text"', "1.5", "null")] == [
        Role.KEY,
        Role.STRING,
        Role.NUMBER,
        Role.KEYWORD,
    ]


@pytest.mark.parametrize(
    "text",
    ["", "[", "{", "[1,", '{"a"', '{"a":', '"abc', "[1,]", "]", "[1 2]", "nope", ",", '{"a": 1]}', "\x00"],
)
def test_what_is_not_json_is_shown_as_it_is(text: str) -> None:
    joined = "".join(shown(document(text, None, WIDTH))).replace(" ", "")
    assert joined == present.clean(text).replace(" ", "")


def test_a_step_that_never_finished_says_so() -> None:
    assert shown(document(None, None, WIDTH)) == ["nothing recorded: it never finished"]
    assert shown(document("null", None, WIDTH)) == ["null"]


def test_the_raw_view_is_the_stored_text() -> None:
    text = json.dumps({"a": "line\nline", "b": list(range(40))})
    assert (
        "".join(span.text for line in present.lines(document(text, None, WIDTH, Mode.RAW)) for span in line)
        == text
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(JSON, st.integers(12, 90))
def test_no_line_is_wider_than_the_pane(value: object, width: int) -> None:
    made = document(json.dumps(value, ensure_ascii=False), None, width)
    for line in present.lines(made):
        # A space at the end of a wrapped line may stand beyond the width.
        text = "".join(span.text for span in line)
        assert present.cells(text.rstrip(" ")) <= width


@given(JSON, st.integers(20, 90))
def test_laid_out_json_is_the_same_json_but_for_blanks(value: object, width: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    # A string that is too long for its row is shown as it reads: without escapes both spellings are one.
    assume("\\" not in text and present.clean(text) == text)
    if all(len(piece) < width // 2 for piece in text.split('"')):
        joined = "".join(
            "".join(span.text for span in line) for line in present.lines(Rows(json_rows(text, width)))
        )
        assert joined.replace(" ", "") == text.replace(" ", "")


class Counted:
    """Counts the characters that are cleaned: the work of laying out and painting."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.characters = 0
        for module in ("json_rows", "documents", "text", "code"):
            name = f"stepwell.app.present.{module}.clean"
            monkeypatch.setattr(name, self.clean, raising=False)
        self._clean = present.clean

    def clean(self, text: str) -> str:
        self.characters += len(text)
        return self._clean(text)


LARGE = {
    "one string": lambda: json.dumps("a word or two " * 700_000 + "END"),
    "a string in an object": lambda: json.dumps({"result": "x" * 10_000_000 + "END"}),
    "rows": lambda: json.dumps([{"id": n, "item": "lamp", "status": "ok"} for n in range(200_000)] + ["END"]),
    "rows in an object": lambda: json.dumps(
        {"rows": [{"id": n, "item": "x"} for n in range(200_000)] + ["END"]}
    ),
}


@pytest.mark.parametrize("kind", LARGE)
def test_ten_megabytes_open_at_the_cost_of_a_screen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = LARGE[kind]()
    counted = Counted(monkeypatch)
    made = document(text, None, WIDTH)
    for index in range(24):
        made.line(index)
    assert made.known_lines == 24
    assert not made.complete
    assert counted.characters < 20_000


def test_ten_megabytes_are_reached_to_the_last_character() -> None:
    made = document(LARGE["a string in an object"](), None, WIDTH)
    while made.advance(10_000):
        pass
    assert "".join(span.text for span in made.line(made.known_lines - 1)).rstrip().endswith('END"}')


def test_what_jsonb_lost_is_shown_as_it_was() -> None:
    value = {"zulu": float("inf"), "a": "nul \0 and \ud800", "t": (1, 2)}
    stored = codec.encode(value)
    made = document(stored.plain, stored.exact, WIDTH)
    assert shown(made) == ['{"zulu": Infinity,', ' "a": "nul \\u0000 and \\ud800",', ' "t": [1, 2]}']


def test_a_large_list_of_which_the_key_order_was_lost_is_restored_one_element_at_a_time() -> None:
    rows = [{"status": "ok", "id": n} for n in range(40_000)]
    stored = codec.encode(rows)
    assert stored.exact is not None
    made = document(stored.plain, stored.exact, WIDTH)
    assert present.line_text(made.line(0)) == '[{"status": "ok", "id": 0},'
    assert made.known_lines == 1
    while made.advance(10_000):
        pass
    assert present.line_text(made.line(made.known_lines - 1)) == ' {"status": "ok", "id": 39999}]'


def test_a_document_says_where_it_ends() -> None:
    made = present.raw("one\ntwo", WIDTH)
    assert made.advance(1)
    assert (made.known_lines, made.complete) == (1, False)
    assert not made.advance(5)
    assert (made.known_lines, made.complete) == (2, True)
    with pytest.raises(IndexError):
        made.line(2)
    with pytest.raises(IndexError):
        made.line(-1)


def test_python_is_highlighted_in_fences_and_where_a_text_is_nothing_else() -> None:
    fenced = Rows(text_rows("Try:\n```python\nreturn 1\n```\nreturn 1", WIDTH))
    assert roles(fenced, 2)["return"] is Role.KEYWORD
    assert roles(fenced, 4) == {"return 1": Role.PLAIN}
    script = Rows(text_rows("import os\n\ndef run():\n    return os", WIDTH))
    assert roles(script, 2)["def"] is Role.KEYWORD


def test_a_patch_is_highlighted() -> None:
    made = Rows(text_rows("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new", WIDTH))
    assert roles(made, 3) == {"-old": Role.REMOVED}
    assert roles(made, 4) == {"+new": Role.ADDED}


@given(
    st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=5).map(
        lambda t: [*map(present.clean, t)]
    )
)
def test_highlighting_changes_no_text(lines: list[str]) -> None:
    painted = highlight(tuple(lines), "python")
    assert ["".join(span.text for span in line) for line in painted] == lines


def test_arguments_stand_one_a_row() -> None:
    made = present.arguments_document({"query": "broken lamp order 8841", "limit": 50}, WIDTH)
    assert shown(made) == ['query  "broken lamp order 8841"', "limit  50"]


def test_long_arguments_stand_below_their_name() -> None:
    made = present.arguments_document({"path": "x.py", "body": "import os\nx = 1"}, WIDTH)
    assert shown(made) == ['path  "x.py"', "body", "  import os", "  x = 1"]


@pytest.mark.parametrize("value", [None, [1, 2], "text", {}, 7])
def test_arguments_of_another_shape_are_shown_as_json(value: object) -> None:
    assert shown(present.arguments_document(value, WIDTH)) == [json.dumps(value)]


STATE = {"plan": ["find order", "refund"], "tries": 3, "customer": 42}


def test_the_state_is_a_row_a_key_with_the_step_that_set_it() -> None:
    made = present.state_document(STATE, {"plan": 3, "tries": 3}, (), WIDTH)
    assert shown(made) == [
        'plan      ["find order", "refund"]         set @3',
        "tries     3                                set @3",
        "customer  42",
    ]


def test_what_a_step_changed_comes_first_old_and_new() -> None:
    changes = [Change(None, ("tries",), 2, 3), Change(None, ("plan", 1), MISSING, "refund")]
    rows = shown(present.state_document(STATE, {}, changes, WIDTH))
    assert rows[:2] == ["tries  2 -> 3", 'plan[1]  (not set) -> "refund"']
    assert path_text(("plan", 1)) == "$.plan[1]"
    assert not any(row.startswith("tries     ") for row in rows)


def test_a_state_that_is_no_object_or_not_there_is_said_to_be_so() -> None:
    assert shown(present.state_document([1], {}, (), WIDTH)) == ["[1]"]
    assert shown(present.state_document(MISSING, {}, (), WIDTH)) == ["no state yet"]


def test_of_a_change_of_state_either_side_gets_what_the_other_leaves() -> None:
    long = "x" * 200
    for old, new in ((MISSING, long), (long, MISSING), (long, long)):
        (row, *_) = shown(present.state_document({}, {}, [Change(None, ("key",), old, new)], 49))
        assert len(row) in (48, 49)
        assert row.count("…") == 2 - (old, new).count(MISSING)


def test_a_long_state_value_is_cut_and_in_full_when_asked() -> None:
    state = {"log": "x" * 100}
    (row,) = shown(present.state_document(state, {"log": 9}, (), WIDTH))
    assert row.endswith("…  set @9")
    full = shown(present.state_document(state, {"log": 9}, (), WIDTH, full=True))
    assert "".join(full[1:]).count("x") == 100


def test_a_difference_of_prompts_counts_what_is_the_same() -> None:
    same = [{"role": "user", "content": "hello"}] * 3
    pairs = present.prompt_diff(
        [*same, {"role": "user", "content": "a"}], [*same, {"role": "user", "content": "b"}], 40
    )
    assert shown(present.diff_document(pairs, 40)) == ["  3 messages the same", "  user", "-  a", "+  b"]


def every_character(made: Document) -> Iterator[str]:
    return (char for line in present.lines(made) for span in line for char in span.text)


@given(JSON, st.integers(1, 20))
def test_no_value_and_no_width_makes_presenting_fail_or_lets_a_control_through(
    value: object, width: int
) -> None:
    text = json.dumps(value)
    state = {"key": value}
    for made in (
        document(text, None, width),
        present.arguments_document(state, width),
        present.state_document(state, {"key": 1}, [Change(None, ("key",), 1, value)], width, full=True),
        present.conversation(
            [value, {"role": "user", "content": value, "tool_calls": value}], 1, width, False
        ),
    ):
        assert all(char >= " " and not "\x7f" <= char <= "\x9f" for char in every_character(made))
