"""What a reply holds."""

import json

from stepwell.core.leaves import calls
from tests.core.stories import asks


def test_calls_are_found_in_the_shapes_of_several_clients() -> None:
    wanted = {"q": "lamp"}
    shapes = (
        {"choices": [{"message": asks("search", **wanted)}]},
        {"content": [{"type": "tool_use", "id": "c1", "name": "search", "input": wanted}]},
        {
            "output": [
                {"type": "function_call", "call_id": "c1", "name": "search", "arguments": json.dumps(wanted)}
            ]
        },
    )
    for shape in shapes:
        (call,) = calls(shape)
        assert (call.name, call.arguments, call.id) == ("search", wanted, "c1")
