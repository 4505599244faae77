"""The states of one scope as they are recorded: mostly differences, and now and then the whole."""

from stepwell.core.codec import Encoded, encode
from stepwell.core.state import PATCH, diff, keyframe, note_keys, paths
from stepwell.core.world import MISSING
from stepwell.recorder.intents import StartStep

FEWEST = 64
"""So many differences at least lie between two whole states."""
MOST = 1000
"""So many at most; fewer where the differences have grown as large as the whole, which then costs as much again."""


class Scope:
    """What one process has recorded of a state. Not for several threads at once.

    `known`: whether nobody else can have recorded a state of it before. Only then is it known which step last
    changed each key, and only then is a state given whole from time to time, for a fold to begin there.
    """

    def __init__(self, known: bool) -> None:
        self.value: object = MISSING
        self.base: StartStep | None = None
        """The step of `value`, to which the next difference is one."""
        self._set_at: dict[str, list[int]] | None = {} if known else None
        """By key: the number of the step that last changed it, empty until that is known."""
        self._unsettled: list[tuple[StartStep, list[int]]] = []
        self._mark: list[int] = []
        self._count = 0
        self._size = 0

    def change(self, new: object, size: int) -> tuple[Encoded, Encoded]:
        """Input and output of the step that makes the state `new`, which alone takes `size` characters."""
        ops = diff(self.value, new)
        self._settle()
        self._mark = []
        at: dict[str, int] | None = None
        if self._set_at is not None:
            note_keys(self._set_at, self.value, new, self._mark, ops)
            if self._count >= MOST or (self._count >= FEWEST and self._size >= size):
                at = self._numbers()
        given = encode({PATCH: ops if at is None else keyframe(new, at)})
        if at is None and self.value is not MISSING:
            self._count, self._size = self._count + 1, self._size + len(given.plain)
        else:
            self._count = self._size = 0
        return given, encode(paths(ops))

    def note(self, new: object, step: StartStep) -> None:
        """`step` records what `change` gave."""
        self.value, self.base = new, step
        if self._set_at is not None:
            self._unsettled.append((step, self._mark))

    def _settle(self) -> None:
        unsettled = []
        for step, mark in self._unsettled:
            if not step.settled:
                unsettled.append((step, mark))
            elif step.number is None or step.sent is None or step.sent.input != step.row.input:
                self._set_at = (
                    None  # it is missing, or somebody else's steps came between, and it was sent whole
                )
            else:
                mark.append(step.number)
        self._unsettled = unsettled

    def _numbers(self) -> dict[str, int] | None:
        """Which steps changed the keys that the coming one leaves alone; None while that is not known."""
        marks = {key: mark for key, mark in (self._set_at or {}).items() if mark is not self._mark}
        return {key: mark[0] for key, mark in marks.items()} if all(marks.values()) else None
