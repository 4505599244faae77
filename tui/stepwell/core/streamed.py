"""What a step that hands out its answer piece by piece has for an output."""

from dataclasses import dataclass

DONE = "done"
CLOSED = "closed"
FAILED = "failed"


@dataclass(frozen=True)
class Streamed:
    """The pieces in order, and how the stream ended: `done`, `closed` early by the agent, or `failed`.

    A class of its own, so that a replay tells a stream from a call that returned a list.
    """

    chunks: list[object]
    ended: str = DONE
    value: object = None
    """What a generator returned."""
