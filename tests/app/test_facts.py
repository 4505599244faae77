"""What is told of a run below the list and in its last column."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from stepwell.app.panes.facts import facts
from stepwell.app.panes.runs import reasons
from stepwell.core.steps import Loop, RunHead
from tests.core.heads import run

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def lacking(status: str, *, source: str | None = None, begun: datetime | None = None) -> RunHead:
    """A run whose step 17, begun at a recorded time or not, has no output."""
    return replace(
        run(status), steps=17, unfinished=1, unfinished_name="send_email", unfinished_number=17,
        unfinished_started=begun, source=source,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (replace(run("unknown"), steps=17), "17 is the last; how the run ended is not recorded"),
        (
            replace(run("unknown"), steps=17, finished=NOON),
            "17 is the last, 12:00:00Z; how the run ended is not recorded",
        ),
        (run("unknown"), "there is no step; how the run ended is not recorded"),
        (replace(run("ok"), steps=3), "3 ended ok"),
        (replace(run("ok"), finished=NOON), "ended ok, 12:00:00Z"),
        (replace(run("failed"), steps=3), "3 ended failed"),
        (replace(run("failed"), steps=3, error=""), "3 ended failed"),
        (replace(run("failed"), steps=3, error="a.b.Boom"), "3 raised Boom"),
        (
            replace(run("failed"), error="Boom: no.", finished=NOON),
            "no step was recorded: raised Boom: no., 12:00:00Z",
        ),
        (replace(run("died"), started=None), "there is no step: the process ended without ending the run"),
        (replace(run("running"), started=NOON), "no step so far, begun 12:00:00Z"),
    ],
)
def test_the_end_is_a_whole_sentence_whatever_is_not_known(head: RunHead, told: str) -> None:
    assert next(facts(head))[1] == told


def test_a_step_that_a_recorder_began_and_never_confirmed_is_in_doubt() -> None:
    died = lacking("died", begun=NOON)
    assert dict(facts(died))["doubt"] == "17 send_email was begun and never confirmed"
    assert list(reasons(died)) == ["in doubt: send_email"]
    more = replace(died, unfinished=3)
    assert dict(facts(more))["doubt"] == "17 send_email was begun and never confirmed, like 2 more"


@pytest.mark.parametrize(
    "head",
    [lacking("unknown"), lacking("ok"), lacking("unknown", begun=NOON, source="SWE-agent")],
    ids=["by hand", "by hand, with an end", "imported"],
)
def test_in_other_rows_an_output_that_is_not_there_is_not_there(head: RunHead) -> None:
    assert dict(facts(head))["open"] == "17 send_email has no output"
    assert "doubt" not in dict(facts(head))
    assert list(reasons(head)) == ["no output: send_email"]


def test_a_running_step_is_neither() -> None:
    running = lacking("running", begun=NOON)
    assert [label for label, _ in facts(running)] == ["now"]
    assert list(reasons(running)) == []


def test_why_it_failed_is_told_with_the_class_and_the_message() -> None:
    failed = replace(run("failed"), steps=17, error="builtins.RuntimeError: agent bug: no.1")
    assert list(reasons(failed)) == ["RuntimeError: agent bug: no.1"]
    looped = replace(failed, error="shop.MaxTurnsError: 25 turns", loop=Loop("search_orders", 5, 51, 1, 24))
    assert list(reasons(looped)) == ["search_orders x24", "MaxTurnsError: 25 turns"]


def test_tags_are_told_as_they_were_given() -> None:
    tagged = replace(run(), tags={"tenant": "a", "empty": "", "none": None, "list": [1, True]})
    assert dict(facts(tagged))["about"] == 'tenant=a empty="" none=null list=[1, true]'
