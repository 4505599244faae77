"""Reading runs back."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepwell.replay.replayer import Replayer

__all__ = ["Replayer"]


def __getattr__(name: str) -> Any:
    """Load what replays when it is first asked for: a whole run can be read without."""
    if name != "Replayer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stepwell.replay.replayer import Replayer

    globals()[name] = Replayer
    return Replayer
