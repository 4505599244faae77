"""Prompts are shown as conversations, whatever API they were made for."""

import json

import pytest

from stepwell.app.present import conversation, plain_text, prompt_messages, reply_messages

WIDTH = 49
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "search_orders", "arguments": '{"query": "lamp", "limit": 50}'},
}
CHAT = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Where is my lamp?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": '[{"id": 8102}]'},
]


def shown(messages: list[object], first_new: int = 0, folded: bool = True, width: int = WIDTH) -> list[str]:
    return list(plain_text(conversation(messages, first_new, width, folded)))


def test_the_new_messages_come_first_in_view() -> None:
    made = conversation(CHAT, 2, WIDTH)
    assert list(plain_text(made)) == [
        "… 2 earlier messages",
        "assistant new",
        ' search_orders(query="lamp", limit=50)',
        "tool search_orders call_1 new",
        ' [{"id": 8102}]',
    ]
    assert made.start_line == 1


def test_unfolded_the_earlier_ones_stand_above() -> None:
    made = conversation(CHAT, 2, WIDTH, folded=False)
    assert list(plain_text(made))[:4] == ["system", " You help.", "user", " Where is my lamp?"]
    assert made.start_line == 4


def test_nothing_new_is_said() -> None:
    assert shown(CHAT, 4) == ["… 4 earlier messages", "no new message"]
    assert shown([]) == ["no messages"]


def test_anthropic_blocks() -> None:
    messages: list[object] = [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look it up."},
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "tu_1", "name": "find", "input": {"id": 7}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "tu_1", "is_error": True, "content": "gone"}],
        },
    ]
    assert shown(messages) == [
        "assistant",
        " thinking",
        "  Look it up.",
        " One moment.",
        " find(id=7)",
        "tool find tu_1 error",
        " gone",
    ]


def test_what_a_message_holds_besides_is_shown_below_it() -> None:
    messages: list[object] = [
        {"role": "user", "content": "Hi", "meta": {"tenant": 7}, "cache": None},
        {"role": "assistant", "id": "m1", "usage": {"input_tokens": 3}, "content": None, "want": "lamp"},
    ]
    assert shown(messages) == [
        "user", " Hi", " also", '  {"meta": {"tenant": 7}}', "assistant", " also", '  {"want": "lamp"}',
    ]  # fmt: skip


def test_responses_items() -> None:
    messages: list[object] = [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Greet."}]},
        {"type": "function_call", "call_id": "c1", "name": "greet", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
    ]
    assert shown(messages) == [
        "user", " Hi", "assistant", " thinking", "  Greet.", "assistant", " greet()", "tool greet c1", " done",
        "assistant", " Hello",
    ]  # fmt: skip


def test_images_are_named_with_their_size_and_never_shown() -> None:
    data = {"type": "base64", "media_type": "image/png", "data": "A" * 12_000}
    parts = [
        {"type": "image", "source": data},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + "A" * 900}},
    ]
    rows = shown([{"role": "user", "content": parts}], width=80)
    assert rows[1] == " [image image/png, 12.1 KB]"
    assert rows[2] == " [image_url https://example.org/a.png]"
    assert rows[3].startswith(" [image_url image/jpeg, ")


def test_long_arguments_stand_below_the_call() -> None:
    call = {"function": {"name": "write", "arguments": json.dumps({"path": "x", "body": "a\nb"})}}
    assert shown([{"role": "assistant", "tool_calls": [call]}]) == [
        "assistant", ' write(path="x", body=below)', "  body:", "   a", "   b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "rows"),
    [
        (None, ["?", " null"]),
        (7, ["?", " 7"]),
        ("hello", ["?", " hello"]),
        ({}, ["?", " {}"]),
        ({"role": 5}, ["?", ' {"role": 5}']),
        ({"role": "user"}, ["user"]),
        ({"role": "user", "content": None}, ["user"]),
        ({"role": "user", "content": ["a", "b"]}, ["user", " a", " b"]),
        ({"role": "user", "content": [None]}, ["user", " null"]),
        ({"role": "assistant", "tool_calls": "x"}, ["assistant", ' "x"']),
        ({"role": "assistant", "tool_calls": [None]}, ["assistant", " null"]),
        ({"role": "tool", "content": "[not json"}, ["tool", " [not json"]),
        ({"role": "\x1b[2J", "content": "\x1b[2J"}, [r"\x1b[2J", r" \x1b[2J"]),
        ({"type": "human", "content": "hi"}, ["user", " hi"]),
    ],
)
def test_odd_messages_are_shown_for_what_they_are(message: object, rows: list[str]) -> None:
    assert shown([message]) == rows


def test_arguments_that_are_not_json_are_shown_as_they_are() -> None:
    call = {"function": {"name": "f", "arguments": "{broken"}}
    assert shown([{"role": "assistant", "tool_calls": [call]}]) == ["assistant", ' f("{broken")']


def test_messages_are_found_in_prompts() -> None:
    assert prompt_messages({"model": "m", "messages": CHAT}) == CHAT
    assert prompt_messages({"system": "S", "messages": CHAT[1:]}) == [
        {"role": "system", "content": "S"},
        *CHAT[1:],
    ]
    assert prompt_messages({"model": "m", "input": "Hi"}) == [{"role": "user", "content": "Hi"}]
    assert prompt_messages(CHAT) == CHAT
    assert prompt_messages({"query": "lamp"}) is None
    assert prompt_messages(None) is None


def test_messages_are_found_in_replies() -> None:
    said = {"role": "assistant", "content": "Hi"}
    assert reply_messages({"choices": [{"message": said}]}) == [said]
    assert reply_messages({**said, "type": "message", "stop_reason": "end_turn"}) is not None
    assert reply_messages({"output": [{"type": "message", **said}]}) == [{"type": "message", **said}]
    assert reply_messages({"rows": []}) is None
