"""Small recordings written by hand, as the bytes of files."""

import json

Message = dict[str, object]


def text(role: str, content: object, **more: object) -> Message:
    return {"role": role, "content": content, **more}


def call(name: str, arguments: object = "{}", id: str | None = None) -> Message:  # noqa: A002
    made: Message = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return made if id is None else {**made, "id": id}


def asks(*calls: Message, **more: object) -> Message:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answer(content: object, id: str | None = None, **more: object) -> Message:  # noqa: A002
    made = text("tool", content, **more)
    return made if id is None else {**made, "tool_call_id": id}


def file(value: object) -> bytes:
    return json.dumps(value).encode()


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def turn(action: str, observation: str | None, state: object = None, **more: object) -> Message:
    """One entry of a SWE-agent trajectory whose reply is its action in a fence."""
    return {
        "action": action,
        "observation": observation,
        "response": f"Now:\n```\n{action}```",
        "state": state,
        "thought": "Now:\n",
        **more,
    }


def trajectory(
    *turns: Message, info: object = None, history: list[Message] | None = None, **more: object
) -> Message:
    """A SWE-agent file whose history has one reply a turn."""
    told = [text("system", "COMMANDS:\nedit:\n  docstring: replaces lines\n\nsubmit:\n  docstring: ends\n")]
    for entry in turns:
        told.append(text("assistant", entry["response"], action=entry["action"], agent="primary"))
        told.append(text("user", f"{entry['observation']}\nbash-$", agent="primary"))
    return {
        "environment": "main",
        "trajectory": list(turns),
        "history": told if history is None else history,
        "info": {"exit_status": "submitted"} if info is None else info,
        **more,
    }
