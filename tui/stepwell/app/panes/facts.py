"""What is known about a run without opening it: each line a fact with its step. Pure."""

from collections.abc import Iterator

from stepwell.app.present import clean, clean_line, clock
from stepwell.core.steps import RunHead

_LONGEST = 300
"""Cells of a recorded text that are made ready; the screen cuts the rest."""


def facts(run: RunHead) -> Iterator[tuple[str, str]]:
    """Labels of at most five letters, and cleaned texts."""
    yield "now" if run.status == "running" else "end", _end(run)
    if run.in_doubt and run.status != "unknown":
        step = f"{run.unfinished_number} " if run.unfinished_number is not None else ""
        yield "doubt", f"{step}{clean(run.unfinished_name or 'a step')} was begun and never confirmed"
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
    at = run.steps
    match run.status:
        case "running":
            return f"{at} so far, begun {clock(run.started)}"
        case "failed" if run.error:
            return f"{at} raised {_error(run.error)}, {clock(run.finished)}"
        case "died":
            return f"{at} is the last: the process ended without ending the run, begun {clock(run.started)}"
        case "unknown":
            return f"{at} is the last, {clock(run.finished)}; how the run ended is not recorded"
        case status:
            return f"{at} ended {clean(status)}, {clock(run.finished)}"


def _error(error: str) -> str:
    """Without the module of the class."""
    name, colon, message = error[: 4 * _LONGEST].partition(":")
    return clean_line(name.rpartition(".")[2] + colon + message, _LONGEST)


def _tag(value: object) -> str:
    return clean_line(value, 60) if isinstance(value, str) else clean(str(value)[:60])
