"""What a step gave with another value in its place."""

import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from stepwell.core.codec import decode, encode, parse
from stepwell.core.edits import edit, read, written
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.sources import How
from stepwell.core.steps import LLM_CALL, Payload, RunHead
from stepwell.core.whatif import editable
from stepwell.errors import UsageError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_what_is_shown_to_be_edited_is_read_back_as_it_was(value: object) -> None:
    again = read(written(value))
    assert encode(again) == encode(value)


@pytest.mark.parametrize(
    ("text", "where"),
    [("", "line 1, column 1"), ("paid", "a text needs its quotes"), ('{\n  "a": 1,\n}', "line 3, column 1")],
)
def test_what_is_no_json_is_told_with_its_place(text: str, where: str) -> None:
    with pytest.raises(UsageError, match=where):
        read(text)


def payload_of(value: object) -> Payload:
    encoded = encode(value)
    return Payload(1, None, encoded.plain, None, encoded.exact)


def decoded(payload: Payload, value: object) -> tuple[object, list[str]]:
    made = edit(payload, value)
    exact = None if made.output_exact is None else parse(made.output_exact)
    return decode(parse(made.output), exact), [path for path, _ in made.plain]


@dataclass
class Order:
    """A type of the user's own."""

    id: int
    tags: tuple[str, ...]


def test_an_edit_inside_of_an_object_leaves_it_one() -> None:
    was = {
        "order": Order(1, ("a", "b")),
        "at": datetime(2026, 3, 1, tzinfo=UTC),
        "sum": Decimal("1.10"),
        "raw": b"x",
    }
    shown = {
        "order": {"id": 2, "tags": ["a", "c"]},
        "at": "2026-03-02T00:00:00+00:00",
        "sum": "2.20",
        "raw": "b'x'",
    }
    at = datetime(2026, 3, 2, tzinfo=UTC)
    now = {"order": Order(2, ("a", "c")), "at": at, "sum": Decimal("2.20"), "raw": b"x"}
    assert decoded(payload_of(was), shown) == (now, [])


def test_what_is_no_such_object_any_more_is_plain_data_and_that_is_told() -> None:
    payload = payload_of({"order": Order(1, ()), "kind": How.CALL})
    shown = {"order": {"id": 2}, "kind": "reply"}
    assert decoded(payload, shown) == (shown, ["$.order", "$.kind"])


def test_a_reply_of_a_client_stays_one_with_another_text_in_it() -> None:
    completion = ChatCompletion.model_validate(
        {
            "id": "c", "created": 1, "model": "m", "object": "chat.completion",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "refund it"}}
            ],
        }
    )  # fmt: skip
    payload = payload_of(completion)
    shown: Any = editable(RecordedRun(RunHead(UUID(int=1), "ok"), (step_of(payload),)), 1)
    shown["choices"][0]["message"]["content"] = "keep it"
    shown["choices"].append(copy.deepcopy(shown["choices"][0]))
    made, plain = decoded(payload, shown)
    assert isinstance(made, ChatCompletion)
    assert [type(choice).__name__ for choice in made.choices] == ["Choice", "Choice"]
    assert made.choices[1].message.content == "keep it"
    assert plain == []


def step_of(payload: Payload) -> RecordedStep:
    return RecordedStep(1, LLM_CALL, "m", None, None, payload)
