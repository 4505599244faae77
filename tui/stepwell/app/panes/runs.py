"""The list of runs as drawn: title, rows, what is known of the selected run, status, keys. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from stepwell.app.listing import Listing
from stepwell.app.panes.bars import READ_ONLY, ends, keys_line, total
from stepwell.app.panes.facts import error_line, facts
from stepwell.app.present import Line, Role, Span, age, cells, clean, count, duration, fit, wrap
from stepwell.core.address import short_id
from stepwell.core.steps import RunHead

FLAGS = {"failed": "!", "died": "?", "running": "~"}
KEYS = (
    ("Enter", "open "), ("/", "filter "), ("f", "failed only "), ("F", "follow "), ("y", "copy id "),
    ("?", "keys "), ("q", "quit "), (":", "go to "),
)  # fmt: skip
FILTERED = (*KEYS[:2], ("Esc", "all "), *KEYS[2:4], *KEYS[5:7], KEYS[4])
"""While not all runs are listed."""
BRANCH = "|- "
"""Before the name of a run that leaves another one."""
_NAME, _WHY = 17, 21
"""Cells at 80 columns; a third of what a wider terminal has more goes to the name."""
_LEAST_NAME, _LEAST_WHY = 10, 12


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows of each part, 0 for one that is left out, and cells of the columns that give way."""

    rows: int
    facts: int
    """The rule above them not included."""
    keys: int
    name: int
    id: int
    steps: bool
    took: bool
    started: bool
    why: int


def lay_out(width: int, height: int, id_width: int = 4) -> Layout:
    """Divide a terminal; what matters least goes first when there is less of it."""
    keys = int(height >= 10)
    facts_ = 6 if height >= 34 else 3 if height >= 16 else 0
    rows = max(1, height - 3 - keys - (facts_ + 1 if facts_ else 0))
    sizes = {"took": 6, "started": 9, "steps": 7, "why": _LEAST_WHY}
    fixed = 12 + 2 + id_width + 2
    while sizes and fixed + _LEAST_NAME + sum(sizes.values()) > width:
        del sizes[next(iter(sizes))]
    room = max(0, width - fixed - sum(sizes.values()))
    name, why = room, 0
    if "why" in sizes:
        flexible = room + _LEAST_WHY
        wide = flexible - _NAME - _WHY
        name = _NAME + wide // 3 if wide > 0 else max(_LEAST_NAME, flexible * _NAME // (_NAME + _WHY))
        why = flexible - name
    return Layout(
        rows, facts_, keys, name, id_width, "steps" in sizes, "took" in sizes, "started" in sizes, why
    )


def layout_of(listing: Listing, width: int, height: int) -> Layout:
    """The layout for the ids that are to be shown."""
    return lay_out(width, height, len(next(iter(listing.ids.values()), "")) or 4)


def screen_lines(listing: Listing, width: int, height: int) -> list[Line]:
    """Every row of the screen, and nothing but what the listing says."""
    layout = layout_of(listing, width, height)
    body = [_row(listing, index, layout, width) for index in _window(listing, layout)]
    if not listing.runs:
        body = [_padded(text, width, role) for text, role in _empty(listing, width)]
    blank = (Span(" " * width),)
    body = (body + [blank] * layout.rows)[: layout.rows]
    lines = [title_line(listing, width), _header(layout, width), *body]
    if layout.facts:
        lines += _facts(listing, layout.facts, width)
    lines.append(status_line(listing, width))
    if layout.keys:
        lines.append(keys_line(width, FILTERED if any(listing.query) else KEYS))
    return lines


def title_line(listing: Listing, width: int) -> Line:
    """`stepwell  4 of 1,204,331 runs  / refund                     agents@db1 READ ONLY`"""
    text, failed = listing.query
    read = count(len(listing.runs)) + ("+" if listing.more else "")
    all_ = None if listing.total is None else total(listing.total, listing.exact)
    filtered = bool(text or failed)
    number = read if all_ is None else f"{read} of {all_}" if filtered else all_
    noun = "run" if number == "1" else "runs"
    left = [Span("stepwell" if listing.shown is None else f"stepwell  {number} {noun}", Role.HEADING)]
    if failed:
        left.append(Span("  failed only", Role.NEW))
    if text:
        left.append(Span(f"  / {clean(text)}", Role.NEW))
    return ends(left, [Span(f"{clean(listing.where)} {READ_ONLY}".lstrip(), Role.DIM)], width)


def status_line(listing: Listing, width: int) -> Line:
    """`newest first, live, 41 ms`, what a key came to, or what is wrong."""
    if listing.error:
        return _padded(f"! {clean(listing.error)}", width, Role.ERROR)
    if not listing.settled:
        return _padded("reading…", width)
    parts = ["newest first", "following" if listing.follow else "live"]
    if listing.milliseconds is not None:
        parts.append(f"{listing.milliseconds:.0f} ms")
    if listing.caution:
        parts = [f"{parts[0]}  {clean(listing.caution)}"]
    left = clean(listing.message) or ", ".join(parts)
    at = f"{count(listing.selected + 1)}/{count(len(listing.runs))}{'+' if listing.more else ''}"
    return ends([Span(left)], [Span(at if listing.runs else "")], width)


def _header(layout: Layout, width: int) -> Line:
    cells_ = ["STARTED" if layout.started else None, "WHY" if layout.why else None]
    text = _joined(
        layout,
        "   STATUS   ",
        "NAME",
        "RUN",
        "STEPS",
        "TOOK",
        *(cell or "" for cell in cells_),
    )
    return _padded(text, width, Role.DIM)


def _window(listing: Listing, layout: Layout) -> range:
    return range(listing.top, min(listing.top + layout.rows, len(listing.runs)))


def _row(listing: Listing, index: int, layout: Layout, width: int) -> Line:
    run = listing.runs[index]
    flag = FLAGS.get(run.status, " ")
    mark = ">" if index == listing.selected else " "
    rest = _joined(
        layout,
        "",
        (BRANCH if run.parent is not None else "") + clean(run.name or "-"),
        listing.ids[run.run_id],
        f"{run.steps}+" if run.status == "running" else str(run.steps),
        took(run, listing.now),
        age(run.started, listing.now),
        ", ".join(reasons(run)),
    )
    status = "branch" if run.parent is not None and run.status == "unknown" else clean(run.status)
    head = f"{mark} {flag}{fit(status, 7)}  "
    role = Role.ERROR if run.status in ("failed", "died") else Role.PLAIN
    return (Span(head, role), Span(fit(rest, width - cells(head))))


def _joined(
    layout: Layout, head: str, name: str, id_: str, steps: str, took_: str, started: str, why: str
) -> str:
    text = f"{head}{fit(name, layout.name)}  {fit(id_, layout.id)}"
    if layout.steps:
        text += f"  {steps:>5}"
    if layout.took:
        text += f"  {took_:>4}"
    if layout.started:
        text += f"  {fit(started, 7)}"
    return f"{text}  {fit(why, layout.why)}" if layout.why else text


def took(run: RunHead, now: datetime) -> str:
    """How long the run has lasted; empty where its end is not known."""
    end = run.finished or (now if run.status == "running" else None)
    if end is None or run.started is None:
        return ""
    return duration(end - run.started)


def reasons(run: RunHead) -> Iterator[str]:
    """What stands out about a run, what matters most first."""
    if run.unanswered:
        yield f"{'in doubt' if run.in_doubt else 'no output'}: {clean(run.unfinished_name or 'a step')}"
    if run.loop is not None:
        yield f"{clean(run.loop.name)} x{run.loop.laps}"
    if run.error:
        yield error_line(run.error)
    if len(run.agents) > 1:
        yield f"{len(run.agents)} agents"
    if run.parent is not None:
        yield f"from {short_id(run.parent)}:{run.forked_at}"


def _facts(listing: Listing, rows: int, width: int) -> list[Line]:
    run = listing.run
    if run is None:
        return [_padded("-" * width, width, Role.DIM)] + [_padded("", width)] * rows
    rule = f"{listing.ids[run.run_id]} "
    lines: list[Line] = [(Span(rule, Role.HEADING), Span("-" * max(0, width - len(rule)), Role.DIM))]
    for label, text in list(facts(run))[:rows]:
        lines.append((Span(f"{label:<6}", Role.KEY), Span(fit(text, max(0, width - 6)))))
    return lines + [_padded("", width)] * (rows + 1 - len(lines))


def _empty(listing: Listing, width: int) -> Iterator[tuple[str, Role]]:
    """What to say in place of runs."""
    text, failed = listing.query
    if listing.error:
        said, role = [listing.error, "", "looked for again by itself; Ctrl-L looks now"], Role.ERROR
    elif not listing.settled:
        said, role = ["reading…"], Role.DIM
    elif text or failed:
        what = "failed or died" if failed else "is here"
        named = f" with {text} in its name or at the beginning of its id" if text else ""
        ways = "/ changes the filter, Esc shows all runs" if text else "Esc shows all runs"
        said, role = [f"no run{named} {what}", "", ways], Role.DIM
    else:
        said, role = list(NOTHING), Role.DIM
    for line in said:
        for piece in wrap(clean(line), width):
            yield piece, role


NOTHING = (
    "no runs are recorded here yet; they appear as soon as they are",
    "",
    'record one        with stepwell.Recorder().run("my-agent") as run: ...',
    "import one        stepwell import FILE",
    "see an example    stepwell demo",
)


def _padded(text: str, width: int, role: Role = Role.PLAIN) -> Line:
    return (Span(fit(text, width), role),)
