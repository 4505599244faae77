"""The title above and the status below: one line each, and each tells the truth."""

import re
from collections.abc import Iterator, Sequence

from stepwell.app.answers import shows_diff
from stepwell.app.present import Line, Role, Span, cells, clean, clock, count, fit
from stepwell.app.view import View
from stepwell.core.address import short_id
from stepwell.core.steps import RunHead
from stepwell.core.whatif import WhatIf
from stepwell.core.world import Moment, World

READ_ONLY = "READ ONLY"
MESSAGE = 2
"""The rank in the status of what a move came to."""
AGENT = 3
"""That of what its code came to, where that is as recorded."""
SHORTEST_NAME = 12
"""Cells that the name of a run has at least."""
LEAST_AGENT = 16
"""Cells that what came of the agent's code has at least."""
LONGEST_REASON = 36
"""Cells that why it failed has at most."""


def title_line(view: View, width: int) -> Line:
    """`refund-triage 7f3a  FAILED MaxTurns  loop 24 laps from 5      agents@db1 READ ONLY`

    A long name gives way to what comes after it, the database to what comes before it.
    """
    run = view.timeline.run
    role = Role.ERROR if run.status in ("failed", "died") else Role.HEADING
    if view.what_if is not None:
        return _what_if_line(view, view.what_if, width)
    rest = [
        Span(f" {view.short_id}  ", Role.HEADING),
        Span(" ".join([_status(run), *map(_shortened, _why(run, wide=width >= 110))]), role),
    ]
    rest = _with_agent(view, rest, role, width)
    rest += _fitting_shape(view, rest, width)
    room = max(SHORTEST_NAME, width - sum(cells(span.text) for span in rest) - len(READ_ONLY) - 2)
    name = clean(run.name) if run.name else "run"
    spans = [Span(fit(name, room) if cells(name) > room else name, Role.HEADING), *rest]
    left = sum(cells(span.text) for span in spans)
    where = f"{clean(view.where)} {READ_ONLY}"
    return ends(spans, [Span(where if left + cells(where) + 2 <= width else READ_ONLY, Role.DIM)], width)


def _status(run: RunHead) -> str:
    """`FAILED`; of a branch also where it leaves which run: `BRANCH of 7f3a@5`, `OK of 7f3a@5`."""
    if run.parent is None:
        return run.status.upper()
    word = "BRANCH" if run.status == "unknown" else run.status.upper()
    return f"{word} of {short_id(run.parent)}@{run.forked_at}"


def _shortened(words: str) -> str:
    return fit(words, LONGEST_REASON) if cells(words) > LONGEST_REASON else words


def run_words(view: View) -> str:
    """`refund-triage 7f3a`, for the title of another screen; not yet cleaned."""
    return f"{view.timeline.run.name or 'run'} {view.short_id}"


def _what_if_line(view: View, what_if: WhatIf, width: int) -> Line:
    """Reversed as a whole: `WHAT-IF 7f3a@12 unsaved  refund-triage  stale from 14`"""
    run, first = view.timeline.run, what_if.stale_from
    text = f"WHAT-IF {view.short_id}@{what_if.number} unsaved"
    if view.agent is not None:
        text += f"  {view.agent.title(edited=True)}"
    elif first is not None:
        text += f"  stale from {first.number}"
    text += f"  {clean(run.name) if run.name else 'run'} {run.status.upper()}"
    where = f"{clean(view.where)} {READ_ONLY}"
    right = where if cells(text) + cells(where) + 2 <= width else READ_ONLY
    line = ends([Span(text)], [Span(right)], width)
    return (Span("".join(span.text for span in line), Role.CURSOR),)


def _with_agent(view: View, rest: list[Span], role: Role, width: int) -> list[Span]:
    """Also whether the agent's code does what was recorded; for want of room without why the run failed, or cut."""
    if view.agent is None:
        return rest
    agent = Span(f"  {view.agent.title()}", Role.HEADING if view.agent.is_well else Role.ERROR)
    if _room([*rest, agent], width) < 0:
        rest = [rest[0], Span(_status(view.timeline.run), role)]
    wanted = cells(agent.text)
    room = wanted + min(0, _room([*rest, agent], width))
    return [*rest, Span(fit(agent.text, max(min(LEAST_AGENT, wanted), room)), agent.role)]


def _room(rest: Sequence[Span], width: int) -> int:
    """Cells that are left beside the shortest name and READ ONLY; below 0 where these have too few."""
    return width - sum(cells(span.text) for span in rest) - SHORTEST_NAME - len(READ_ONLY) - 2


def _fitting_shape(view: View, rest: Sequence[Span], width: int) -> list[Span]:
    """Loops and agents, as long as what the agent's code did has room beside them."""
    shape = list(_shape(view))
    return shape if view.agent is None or _room([*rest, *shape], width) >= 0 else []


def _shape(view: View) -> Iterator[Span]:
    """Loops and agents, where there are any to speak of."""
    loop = view.timeline.outline.laps.worst
    if loop is not None:
        yield Span(f"  loop {loop.laps} laps from {loop.first}", Role.HEADING)
    agents = sum(agent is not None for agent in view.timeline.outline.by_agent)
    if agents > 1:
        yield Span(f"  {agents} agents")


def _why(run: RunHead, wide: bool) -> list[str]:
    found = []
    if run.error:
        found.append(error_text(run.error) if wide else error_name(run.error))
    if run.status == "died" and run.unfinished_name:
        found.append(f"in doubt: {clean(run.unfinished_name)}")
    return found


def error_text(error: str) -> str:
    """`MaxTurnsError: 25 turns` of `shop.agent.MaxTurnsError: 25 turns`."""
    name, colon, message = error.partition(":")
    return clean(name.rpartition(".")[2] + colon + message)


def error_name(error: str) -> str:
    """The class alone: `MaxTurns` of `shop.agent.MaxTurnsError: 25 turns`, but `TypeError`: one word is no name."""
    name = clean(error.partition(":")[0].rpartition(".")[2])
    short = name.removesuffix("Error")
    return short if re.search("[a-z0-9][A-Z]", short) else name


def status_line(view: View, width: int) -> Line:
    """Where one stands, what the last move came to, and how it was read; what fits least is left out first."""
    if view.error:
        return (Span(fit(f"! {clean(view.error)}", width), Role.ERROR),)
    timeline = view.timeline
    position = f"{timeline.position()} {timeline.moment}"
    parts = [(0, position)]
    live = ("FOLLOW" if view.follow else "LIVE") if timeline.running else ""
    new = f"+{view.behind} new" if view.behind and not view.follow else ""
    if live or new:
        parts.append((1, " ".join(filter(None, (live, new)))))
    if view.message:
        parts.append((MESSAGE, clean(view.message)))
    world = view.world
    parts += _of_agent(view)
    if view.busy and view.stale:
        parts.append((3, "replaying…"))
    elif world is not None and not view.stale:
        parts += _told(view, world, wide=width >= 110)
    return (Span(fit(_fitting(parts, width), width)),)


def _of_agent(view: View) -> Iterator[tuple[int, str]]:
    """What the agent's code did; what a key has to say or to ask comes before it.

    Where it parts is told in full at that step, and of a what-if: elsewhere the title says it.
    """
    agent, step = view.agent, view.timeline.current
    if agent is None or view.stale or view.message:
        return
    found = None if agent.report is None or view.what_if is not None else agent.report.divergence
    if found is not None and found.step is not None and (step is None or found.step != step.number):
        return
    if words := clean(agent.words()):
        yield AGENT if agent.is_well else MESSAGE, words


def _told(view: View, world: World, *, wide: bool) -> list[tuple[int, str]]:
    replay = world.replay
    first = view.timeline.steps.numbers[0]
    folded = f"{first if replay.kept is None else replay.kept + 1}-{world.number}"
    kept = "" if replay.kept is None else f" on {first}-{replay.kept} kept"
    ms = f"{replay.milliseconds:.0f}{' ' if wide else ''}ms"
    parts = []
    if world.step.agent and len(view.timeline.outline.by_agent) > 1:
        parts.append((6, f"lane {clean(world.step.agent)}"))
    if world.clock:
        parts.append((5, clock(world.clock)))
    if world.tokens_in is not None or world.tokens_out is not None:
        parts.append((7, f"{_tokens(world.tokens_in)}+{_tokens(world.tokens_out)} tok"))
    parts.append(
        (4, f"folded {folded}{kept} ({replay.state_steps} state) in {ms}" if wide else f"{folded} {ms}")
    )
    level = replay.isolation if wide else replay.isolation.partition(" READ ONLY")[0]
    rolled_back = f"{', ' if wide else ' '}rolled back" if replay.rolled_back else ""
    if "SERIALIZABLE" in replay.isolation:
        parts += [(3, level + rolled_back), *((MESSAGE, clean(note)) for note in replay.notes)]
    else:
        # A weaker snapshot than promised is told with its reason, before anything else.
        parts.append((MESSAGE, f"{level}{rolled_back}: {clean('; '.join(replay.notes))}"))
    if replay.ordered_by == "number":
        parts.append((8, "ordered by number"))
    return parts


def _tokens(number: int | None) -> str:
    if number is None:
        return "?"
    return f"{number / 1000:.1f}k" if number >= 1000 else str(number)


def _fitting(parts: list[tuple[int, str]], width: int) -> str:
    """The parts in their order, without those of the highest rank that do not fit.

    For a message the position is first shortened, to `17/318+`, and then left out: the timeline shows where one is as
    well.
    """
    kept = list(parts)
    while len(kept) > 1 and sum(cells(text) + 2 for _, text in kept) - 2 > width:
        worst = max(kept, key=lambda part: part[0])
        if worst[0] != MESSAGE or kept[0][0] >= MESSAGE:
            kept.remove(worst)
        elif (short := kept[0][1].partition(" ")[0]) != kept[0][1] and kept[0][0] == 0:
            kept[0] = (0, short)
        else:
            del kept[0]
    return "  ".join(text for _, text in kept)


def world_words(moment: Moment, number: int) -> str:
    """`after 11`, `asked 11`"""
    return f"{moment} {number}"


def ends(left: list[Span], right: list[Span], width: int) -> Line:
    """Two ends of a line; the right one goes where both do not fit."""
    size = sum(cells(span.text) for span in (*left, *right))
    if size + 2 > width:
        text = "".join(span.text for span in left)
        if cells(text) > width:
            return (Span(fit(text, width), left[0].role),)
        return (*left, Span(" " * (width - cells(text))))
    return (*left, Span(" " * (width - size)), *right)


EDITING = (("Esc", "done"), ("Ctrl-O", "in $EDITOR"), ("Ctrl-C", "as it was"), ("Ctrl-_", "undo"))
"""While an output is edited."""
KEYS = (
    ("n/p", "step"), ("c/C", "continue"), ("b", "break"), ("t", "tables"), ("s", "SQL"), ("?", "keys"), ("q", "out"),
    (":", "goto"), ("/", "find"), ("Tab", "pane"), ("z", "zoom"), ("d", "diff"), ("T", "browse"),
    ("a", "asked/after"), ("F", "follow"), ("!", "error"), ("r/R", "lap"), ("y/Y", "copy"), ("v", "pager"),
)  # fmt: skip
"""What is worth most first: where there are few columns the rest is left out."""
ALWAYS = ("n/p", "?", "q")
"""Those that stay where there are more than usual."""


def keys_of(view: View) -> Sequence[tuple[str, str]]:
    """Those that lead out of what is shown come first and say so."""
    if view.editing:
        return EDITING
    own = [("D", "divergence")] if view.agent is not None and view.agent.diverged is not None else []
    own += [(":live", "go on")] if view.agent is not None and view.agent.asks_anew else []
    own += [("W", "save"), ("u", "undo")] if view.what_if is not None else []
    leading = {key for key, shown in (("d", shows_diff(view)), ("z", view.zoomed)) if shown}
    back = [(key, "back") for key, _ in KEYS if key in leading]
    rest = [(key, word) for key, word in KEYS if key not in leading]
    if own:
        rest.sort(key=lambda each: each[0] not in ALWAYS)
    return [*own, *back, *rest]


def keys_line(width: int, keys: Sequence[tuple[str, str]] = KEYS) -> Line:
    """As many keys as fit; the help screen has them all."""
    spans: list[Span] = []
    room = width
    for key, word in keys:
        size = len(key) + len(word) + (2 if spans else 1)
        if size > room:
            break
        spans += [Span((" " if spans else "") + key, Role.HEADING), Span(f" {word}")]
        room -= size
    return (*spans, Span(" " * room))


def total(number: int, exact: bool) -> str:
    """`1,204,331`, or `about 1,204,000`."""
    return count(number) if exact else f"about {count(number)}"
