"""What is known about a run without opening it: each line a fact with its step. Pure."""

from collections.abc import Iterator
from datetime import datetime

from stepwell.app.present import clean, clean_line, clock, count, dumps
from stepwell.core.address import short_id
from stepwell.core.steps import RunHead

_LONGEST = 300
"""Cells of a recorded text that are made ready; the screen cuts the rest."""


def facts(run: RunHead) -> Iterator[tuple[str, str]]:
    """Labels of at most five letters, and cleaned texts."""
    yield "now" if run.status == "running" else "end", _end(run)
    if run.parent is not None:
        yield "fork", f"from {short_id(run.parent)}:{run.forked_at}, and has the steps before that from there"
    if run.unanswered:
        step = f"{run.unfinished_number} " if run.unfinished_number is not None else ""
        which = f"{step}{clean_line(run.unfinished_name or 'a step', _LONGEST)}"
        more = f", like {count(run.unfinished - 1)} more" if run.unfinished > 1 else ""
        if run.in_doubt:
            yield "doubt", f"{which} was begun and never confirmed{more}"
        else:
            yield "open", f"{which} has no output{more}"
    if run.loop is not None:
        loop = run.loop
        cycle = "" if loop.period == 1 else f" and so on, {loop.period} calls a lap"
        laps = f"same arguments, same result, {loop.laps} laps"
        yield "loop", f"{loop.first}-{loop.last} {clean(loop.name)}{cycle}, {laps}"
    if len(run.agents) > 1:
        yield (
            "swarm",
            f"{len(run.agents)} agents: {', '.join(clean_line(name, 40) for name in run.agents[:50])}",
        )
    about = []
    if run.tags:
        about.append(" ".join(f"{clean_line(key, 60)}={_tag(value)}" for key, value in run.tags.items()))
    if run.source:
        about.append(f"from {clean_line(run.source, _LONGEST)}")
    if about:
        yield "about", ", ".join(about)


def _end(run: RunHead) -> str:
    """How far the run got, and what ended it."""
    at = f"{run.steps} " if run.steps else ""
    last = f"{run.steps} is the last" if run.steps else "there is no step"
    match run.status:
        case "running":
            return _timed(f"{at or 'no step '}so far", run.started, "begun ")
        case "failed" if run.error:
            at = at or "no step was recorded: "
            return _timed(f"{at}raised {error_line(run.error)}", run.finished)
        case "died":
            return _timed(f"{last}: the process ended without ending the run", run.started, "begun ")
        case "unknown" if run.parent is not None:
            return f"{last}: how it would have gone on is not known"
        case "unknown":
            return f"{_timed(last, run.finished)}; how the run ended is not recorded"
        case status:
            return _timed(f"{at}ended {clean(status)}", run.finished)


def _timed(words: str, at: datetime | None, label: str = "") -> str:
    """With the time, where there is one."""
    return words if at is None else f"{words}, {label}{clock(at)}"


def error_line(error: str) -> str:
    """`MaxTurnsError: 25 turns` of `shop.agent.MaxTurnsError: 25 turns`, cleaned and of no great length."""
    name, colon, message = error[: 4 * _LONGEST].partition(":")
    return clean_line(name.rpartition(".")[2] + colon + message, _LONGEST)


def _tag(value: object) -> str:
    return clean_line(value if isinstance(value, str) and value else dumps(value), 60)
