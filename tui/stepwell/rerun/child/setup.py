"""What the process that replays is told at its start. Over its socket: nothing of it shows in a list of processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from stepwell.store.target import Target

PROTOCOL = 1
"""Raised when the two sides no longer understand each other: they may be of different versions of Stepwell."""

WROTE = 64
"""The exit status of a replay whose agent writes to tables."""
AGAIN = 65
"""That of one that has found this out, and has to be begun again."""
MARK = b"\0begun again\0"
"""Printed when a replay has been begun again: what was printed before it does not count."""


@dataclass(frozen=True, slots=True)
class Setup:
    """`report`, `trace` and `progress` are descriptors of files without names, which both sides hold."""

    conninfo: str
    label: str
    run: str
    agent: str
    pure: tuple[str, ...]
    timeout: float
    """Seconds that the import of the agent's module, and a replay, may take."""
    memory: int | None
    """Bytes of address space that a replay may have."""
    report: int
    trace: int
    """Where `faulthandler` says what the process was at."""
    progress: int
    """Which step was asked for last."""
    protocol: int = PROTOCOL

    @property
    def target(self) -> Target:
        """The database; whoever asked keeps an embedded one up."""
        return Target(self.conninfo, "argument", self.label)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(made: dict[str, Any]) -> Setup:
        """Raises TypeError for what another version has sent."""
        return Setup(**{**made, "pure": tuple(made["pure"])})
