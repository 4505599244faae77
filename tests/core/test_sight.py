"""What the model saw of a tool's output."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stepwell.core.renderings import ENOUGH
from stepwell.core.sight import DECENT, How, seen

ROWS = [{"id": number, "item": "lämp"} for number in range(8100, 8200)]
LOG = "".join(f'line {number}: "größe" {number * 7919}\n' for number in range(100))
READINGS: list[dict[str, Any]] = [
    {"unit": "celsius", "place": "the upper lamp shop", "v": number / 7} for number in range(1, 100)
]
NOTES = [
    {"place": "the upper lamp shop in town", "note": " ".join(f"{row}w{word}" for word in range(10, 22))}
    for row in range(10, 40)
]

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXT, inner, max_size=6),
    max_leaves=20,
)
LONG = st.lists(SCALAR, min_size=8, max_size=30) | st.text("ab \n'\"\\ü9", min_size=80)

OPTIONS: list[dict[str, Any]] = [
    {"indent": indent, "separators": separators, "ensure_ascii": is_ascii, "sort_keys": is_sorted}
    for indent, separators in [(None, None), (None, (",", ":")), (1, None), (2, None), (4, None)]
    for is_ascii in (True, False)
    for is_sorted in (True, False)
]
WRITTEN = st.sampled_from([str, *(partial(json.dumps, **options) for options in OPTIONS)])
WRAPPED = st.sampled_from(
    [
        str,
        lambda text: f"result:\n{text}\nend",
        lambda text: json.dumps({"result": text}),
        lambda text: json.dumps({"result": text}, ensure_ascii=False, indent=2),
        lambda text: str({"result": text}),
    ]
)


def prompt(content: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": content}]}


@given(JSON, WRITTEN, WRAPPED)
def test_an_output_is_found_whole_in_each_form(value: object, write: Any, wrap: Any) -> None:
    text = value if isinstance(value, str) else write(value)
    assert seen(value, 12, prompt(wrap(text))).whole


@given(st.dictionaries(TEXT, JSON, min_size=1, max_size=4), st.sampled_from(OPTIONS))
def test_an_output_is_found_whole_inside_a_value_that_was_written_with_it(value: Any, options: Any) -> None:
    assert seen(value, 12, prompt(json.dumps({"result": value}, **options))).whole


@given(LONG, WRITTEN, st.data())
def test_of_an_output_that_was_cut_the_part_that_is_there_is_counted(
    value: object, write: Any, data: Any
) -> None:
    text = (value if isinstance(value, str) else write(value)).strip()
    least = max(ENOUGH, min(DECENT, len(text) // 2 + 1))
    assume(len(text) > least)
    cut = data.draw(st.integers(least, len(text) - 1))
    sight = seen(value, 12, prompt(text[:cut] + "\0"))
    assert sight.whole or (sight.cut and sight.seen >= cut)
    if sight.cut and sight.length == len(text):
        assert sight.seen == cut
    if sight.whole:  # what was lost says nothing
        assert len(text) - cut < ENOUGH


@pytest.mark.parametrize(
    ("output", "content", "held"),
    [
        (ROWS, json.dumps(ROWS, indent=2)[:500], 500),
        (ROWS, json.dumps(ROWS)[:2048] + "[truncated]", 2048),
        (ROWS, json.dumps(ROWS[:3]), len(json.dumps(ROWS[:3])) - 1),
        (LOG, json.dumps({"result": LOG[:900]}), len(json.dumps(LOG[:900])) - 2),
        (LOG, f"{LOG[:900]}\n[…]\n{LOG[-800:]}", 899 + 800),
        (LOG, LOG[-800:], 799),
    ],
)
def test_a_cut_says_how_much_is_there(output: object, content: str, held: int) -> None:
    sight = seen(output, 12, prompt(content))
    assert sight.cut
    assert abs(sight.seen - held) <= 1  # a line's end
    assert sight.seen < sight.length


@pytest.mark.parametrize(
    ("output", "content", "how"),
    [
        (LOG, LOG.strip(), How.WHOLE),
        (LOG, LOG.replace("\n", "\r\n"), How.REWORDED),
        (LOG, [{"type": "text", "text": LOG[:1500]}, {"type": "text", "text": LOG[1500:]}], How.WHOLE),
        (
            LOG,
            [{"type": "text", "text": f"{n}: {LOG[n : n + 500]}"} for n in range(0, 4000, 500)],
            How.REWORDED,
        ),
        (ROWS, [{"function_response": {"response": ROWS}}], How.WHOLE),
        (ROWS, "\n".join(f"| {row['id']} | {row['item']} |" for row in ROWS), How.REWORDED),
        (ROWS, json.dumps([{**row, "new": True} for row in ROWS]), How.REWORDED),
        ({"rows": ROWS}, json.dumps({"rows": ROWS, "took": 3}), How.WHOLE),
        (json.dumps(ROWS), json.dumps(ROWS, indent=2), How.WHOLE),
        (READINGS, json.dumps([{**row, "v": round(row["v"], 2)} for row in READINGS]), How.REWORDED),
        (NOTES, json.dumps([{**row, "note": row["note"][:36]} for row in NOTES]), How.ABSENT),
        (ROWS, "there are some lamps", How.ABSENT),
        ("nothing of this kind is there", "an error came instead", How.ABSENT),
        ("", "x", How.WHOLE),
        (None, "x", How.WHOLE),
        ([], "x", How.WHOLE),
    ],
    ids=[
        "without-the-ends",
        "other-line-ends",
        "in-two-blocks",
        "in-numbered-blocks",
        "unwritten",
        "as-a-table",
        "a-key-more-in-each-row",
        "a-key-more",
        "text-written-anew",
        "rounded",
        "each-text-shortened",
        "told-in-words",
        "an-error-instead",
        "no-text",
        "nothing",
        "no-rows",
    ],
)
def test_no_cut_is_claimed_that_is_not_sure(output: object, content: object, how: How) -> None:
    assert seen(output, 12, prompt(content)).how is how


def test_a_cut_says_where_the_lost_part_begins() -> None:
    text = json.dumps(ROWS, indent=2)
    assert seen(ROWS, 12, prompt(text[:500])).rest == text[500:700]


def test_the_output_of_a_parallel_call_is_not_taken_for_the_rest() -> None:
    results = [{"type": "tool_result", "tool_use_id": key, "content": LOG[:2000]} for key in "ab"]
    sight = seen(LOG, 12, prompt(results))
    assert (sight.cut, sight.seen) == (True, 2000)


def test_a_long_text_that_repeats_itself_is_looked_for_in_passable_time() -> None:
    """Where each place in the prompt were compared from its beginning, this would take hours."""
    assert seen("a" * 400_000 + "b", 12, prompt(("a" * 399_000 + "c") * 2)).seen == 399_000
