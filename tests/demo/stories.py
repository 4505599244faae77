"""The demo's runs by their stories."""

from contextlib import closing

from stepwell.core.steps import RunHead
from stepwell.replay import Replayer
from stepwell.replay.runs import Runs
from stepwell.store.connect import resolve


def story(dsn: str, name: str) -> RunHead:
    """The one run that tells this story."""
    with closing(Runs(resolve(dsn))) as runs:
        (head,) = [head for head in runs.page(10) if head.tags["story"] == name]
    return head


def letters(replayer: Replayer) -> str:
    """The kinds of its steps, a letter each."""
    return "".join(step.type[0] for step in replayer.heads())
