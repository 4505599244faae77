"""What the model saw of a tool's output."""

import json

import pytest

from stepwell.core.sight import seen

ROWS = [{"id": number, "item": "lamp"} for number in range(8100, 8200)]


def prompt(content: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": content}]}


def test_an_output_that_is_there_whole() -> None:
    sight = seen("the order is 8841, shipped", 12, prompt("result: the order is 8841, shipped."))
    assert (sight.number, sight.seen, sight.length) == (12, 26, 26)
    assert not sight.cut
    assert not sight.absent


def test_an_output_cut_by_a_limit_says_how_much_was_lost_and_from_where() -> None:
    text = json.dumps(ROWS)
    sight = seen(text, 12, prompt(text[:2048] + "[truncated]"))
    assert sight.cut
    assert (sight.seen, sight.length) == (2048, len(text))
    assert sight.rest == text[2048:2248]


@pytest.mark.parametrize("spelled", [json.dumps(ROWS), json.dumps(ROWS, separators=(",", ":")), str(ROWS)])
def test_a_value_that_is_no_text_is_found_however_it_was_written(spelled: str) -> None:
    assert seen(ROWS, 3, prompt(spelled)).seen == len(spelled)
    assert seen(ROWS, 3, prompt(spelled[:500])).cut


def test_an_output_that_is_not_there_at_all() -> None:
    assert seen("nothing of this kind is there", 3, prompt("an error came instead")).absent


def test_it_looks_inside_blocks() -> None:
    blocks = [{"type": "tool_result", "content": [{"type": "text", "text": "forty-two is the answer"}]}]
    assert seen("forty-two is the answer", 3, prompt(blocks)).seen == 23


def test_an_empty_output_is_neither_cut_nor_absent() -> None:
    sight = seen("", 3, prompt("x"))
    assert not sight.cut
    assert not sight.absent
