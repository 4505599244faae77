"""The shop of the replay's tests, for commands too."""

from tests.replay.shop import shop

__all__ = ["shop"]
