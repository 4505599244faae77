"""Reading runs back."""

from stepwell.replay.replayer import Replayer

__all__ = ["Replayer"]
