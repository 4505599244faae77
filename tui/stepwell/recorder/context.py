"""Which run and which step the code that runs now is part of.

Kept in a context variable: tasks inherit it, threads do not unless they are started with a copied context
(`contextvars.copy_context().run`). A step that a bare thread takes has no parent.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    from stepwell.recorder.run import Run


class Frame(NamedTuple):
    """The run, as the view of it that took the step, and the step; `step` None outside of any.

    `served`: a replay has the answer of what runs here, and does not run it.
    """

    run: Run
    step: int | None
    served: bool = False


_current: ContextVar[Frame | None] = ContextVar("stepwell", default=None)


def current_run() -> Run | None:
    """The run that is being recorded here: inside `with recorder.run(…)` or in a call made through a run."""
    frame = _current.get()
    return None if frame is None else frame.run


def current_frame() -> Frame | None:
    """Where the code that runs now is."""
    return _current.get()


restore = _current.set
"""`restore(frame)`: be there again, after `enter` in this very call, even one whose token an interrupt has lost.

A function in C, so that no signal handler comes between it and the `except` that begins with it: a handler that
raises, as those of timeouts do, would leave whatever runs next inside a step that is over. Not for coroutines:
they may be closed in another context, which refuses a token but would take a frame.
"""


def parent_in(run_id: UUID) -> int | None:
    """The step of this run that the code is inside of, if any; a step of another run is no parent."""
    frame = _current.get()
    return frame.step if frame is not None and frame.run.run_id == run_id else None


def enter(frame: Frame) -> Token[Frame | None]:
    """What runs until `leave(token)` is there; and within what a replay does not run, nothing of the run is run."""
    outer = _current.get()
    if outer is not None and outer.served and not frame.served and outer.run.run_id == frame.run.run_id:
        frame = frame._replace(served=True)
    return _current.set(frame)


def leave(token: Token[Frame | None]) -> None:
    """Back to what was before; nothing where a generator was moved to another context meanwhile."""
    try:
        _current.reset(token)
    except ValueError:
        return
