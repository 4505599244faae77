"""What the model saw of a tool's output, in a few words. Pure."""

from stepwell.app.present import ELLIPSIS, clean, count, reply_messages, size, value
from stepwell.app.present.chat import Call, message
from stepwell.core.prompts import messages_of
from stepwell.core.sight import Sight, seen
from stepwell.core.steps import TOOL_CALL
from stepwell.core.world import World

SIGHT_LIMIT = 4_000_000
"""Characters of output and prompt up to which it is worked out what the model saw."""
SNIPPET = 18
"""Characters of what was not seen: with them the line fits a pane of a terminal 80 columns wide."""


def sight_of(world: World) -> Sight | None:
    """What the next prompt of the same agent holds of this output; None where that cannot be said.

    Nor is anything said of an output that is not found where no reply named the tool: nobody was to see it.
    """
    output, prompt = world.payload.output, world.next_prompt
    if world.step.type != TOOL_CALL or output is None or prompt is None or prompt.input is None:
        return None
    if prompt.problem is not None:
        return None
    if len(output) + len(prompt.input) > SIGHT_LIMIT:
        return None
    try:
        given = value(prompt.input, prompt.input_exact)
        if not messages_of(given):
            return None
        sight = seen(value(output, world.payload.output_exact), prompt.number, given)
    except (ValueError, RecursionError):
        return None
    return None if sight.absent and not _may_be_asked(world) else sight


def _may_be_asked(world: World) -> bool:
    """Whether the reply before names the tool, in whatever form; one that is too large to be read may."""
    reply, name = world.previous_reply, world.step.name
    return reply is not None and bool(name) and (reply.output is None or str(name) in reply.output)


def not_looked_through(world: World) -> int | None:
    """The prompt that was not looked through for this output, since one of them is too large; None for none."""
    output, prompt = world.payload.output, world.next_prompt
    if world.step.type != TOOL_CALL or output is None or prompt is None:
        return None
    is_long = prompt.input_unread or len(output) + len(prompt.input or "") > SIGHT_LIMIT
    return prompt.number if is_long else None


def asked_by(world: World) -> int | None:
    """The model call whose reply asked for this tool call; None where no reply shows that it did."""
    reply = world.previous_reply
    if reply is None or reply.output is None or len(reply.output) > SIGHT_LIMIT:
        return None
    said = reply_messages(value(reply.output, reply.output_exact)) or []
    calls = (part for recorded in said for part in message(recorded).parts if isinstance(part, Call))
    return reply.number if any(part.name == world.step.name for part in calls) else None


def sight_lines(sight: Sight | None) -> list[str]:
    """`x prompt 12 holds 2,048 characters of this output`, and what of it was never seen; `x` for a sure loss only."""
    if sight is None or sight.whole:
        return []
    if sight.absent:
        return [f"not found in prompt {sight.number}, as it was or in other forms of JSON"]
    if not sight.cut:
        return [f"prompt {sight.number} holds this output, not verbatim"]
    rest = clean(" ".join(sight.rest.split())[:SNIPPET])
    return [
        f"x prompt {sight.number} holds {count(sight.seen)} characters of this output",
        f"x {size(sight.length - sight.seen)} never seen, from: {rest}{ELLIPSIS}",
    ]
