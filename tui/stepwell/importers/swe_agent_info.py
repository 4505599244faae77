"""`info`, in which SWE-agent and mini-swe-agent say how a run ended and what it took."""

from stepwell.core.recording import Failure
from stepwell.importers.document import Item

_STATS = ("instance_cost", "total_cost", "api_calls", "tokens_sent", "tokens_received")


def outcome(info: Item) -> tuple[str, Failure | None]:
    """`submitted…` is ok; every other exit, and none at all, is a failure."""
    exit_status = info.get("exit_status")
    if isinstance(exit_status, str) and exit_status.lower().startswith("submitted"):
        return "ok", None
    return "failed", Failure(
        "exit_status", str(exit_status) if exit_status else "none: it ended unexpectedly"
    )


def info_tags(item: Item) -> dict[str, object]:
    """What the file counts over the whole run."""
    info = item / "info"
    found = {"environment": item.get("environment"), "exit_status": info.get("exit_status")}
    found |= {key: (info / "model_stats").get(key) for key in _STATS}
    return {key: value for key, value in found.items() if isinstance(value, str | int | float)}
