"""What INPUT, OUTPUT, STATE and TABLES hold: a heading, a document, and a few words of what it means."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from stepwell.app.geometry import Pane
from stepwell.app.panes.agent import agent_pane
from stepwell.app.panes.bars import world_words
from stepwell.app.panes.sight import asked_by, not_looked_through, sight_lines
from stepwell.app.panes.tables import tables_pane
from stepwell.app.present import (
    Document,
    Mode,
    Role,
    Row,
    Rows,
    Span,
    arguments_document,
    changes_document,
    clean,
    conversation,
    count,
    diff_document,
    document,
    dumps,
    is_too_large,
    json_rows,
    note,
    prompt_diff,
    reply_messages,
    rows,
    settings_diff,
    size,
    state_document,
    value,
    wrap_line,
)  # fmt: skip
from stepwell.app.view import View
from stepwell.core import codec
from stepwell.core.address import Address, Number
from stepwell.core.prompts import kept_messages, messages_of, new_messages, settings_of
from stepwell.core.sight import Sight
from stepwell.core.state import patch_of
from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL, Payload
from stepwell.core.whatif import Stale
from stepwell.core.world import MISSING, SHARED, Moment, World
from stepwell.store.limits import MOVES

SHORT_LIST = 6


@dataclass(frozen=True, slots=True)
class Content:
    """One pane: `label` follows its name in the heading."""

    label: str
    document: Document


def content(view: View, world: World, pane: Pane, width: int) -> Content:
    """What a pane shows of a world. Never raises for what was recorded."""
    match pane:
        case Pane.INPUT:
            return _input(view, world, width)
        case Pane.OUTPUT:
            return _output(view, world, width)
        case Pane.TABLES:
            return Content(*tables_pane(view, world, width))
        case Pane.AGENT:
            return Content(*agent_pane(view.agent, width))
        case _:
            return _state(view, world, width)


def _reprs(exact: str | None) -> str:
    """`; kept as repr: object; redacted: password`, for what could not or was not to be kept as it was."""
    if exact is None or ('"opaque"' not in exact and '"redacted"' not in exact):
        return ""
    parsed = codec.parse(exact)
    words = ""
    if reprs := codec.opaque_types(parsed):
        words = f"; kept as repr: {clean(', '.join(reprs))}"
    if names := codec.redacted_names(parsed):
        words += f"; redacted: {clean(', '.join(name or 'a text' for name in names))}"
    return words


def _input(view: View, world: World, width: int) -> Content:
    shown, stale = _given_to(view, world, width), _stale(view, world)
    if not stale:
        return shown
    label = "stale from here" if view.what_if and view.what_if.stale_from is stale else "stale"
    words = rows(note(f"{label}: {clean(stale.words)}", width, Role.NEW))
    start, lines = shown.document.start_line, rows(shown.document)
    return Content(f"{label}, {shown.label}", Rows(chain(islice(lines, start), words, lines), start))


def _stale(view: View, world: World) -> Stale | None:
    """Why what the step was given would be otherwise now."""
    return None if view.what_if is None else view.what_if.by_number.get(world.number)


def _given_to(view: View, world: World, width: int) -> Content:
    step, payload = world.step, world.payload
    label = clean(step.name or step.type) + _reprs(payload.input_exact)
    if payload.problem is not None:
        return Content(f"{label}, not whole", _not_whole(payload, width))
    if payload.input_unread is not None:
        return _unread(view, world, label, payload.input_unread, width)
    if payload.input is None:
        return Content(label, note("no input recorded", width))
    if Pane.INPUT in view.raw:
        rows = f" in {count(len(payload.chain))} steps" if payload.chain else ""
        return Content(f"{label}, as stored{rows}", document(payload.input, None, width, Mode.RAW))
    if is_too_large(payload.input, payload.input_exact):
        return _too_large(label, payload.input, width)
    given = value(payload.input, payload.input_exact)
    if step.type == LLM_CALL:
        return _prompt(view, world, given, label, width)
    if step.type == TOOL_CALL:
        asked = asked_by(world)
        same = same_calls(view)
        label += f", asked by {asked}" if asked is not None else ""
        return Content(label, _followed(arguments_document(given, width), same, Role.DIM, width))
    if step.type == STATE_UPDATE and patch_of(given) is not None and world.moment is Moment.AFTER:
        return Content(f"{label}, what changed", changes_document(world.changed, width))
    return Content(label, document(payload.input, payload.input_exact, width))


def _unread(view: View, world: World, label: str, stored: int, width: int) -> Content:
    """In place of a value that moves leave alone, so that a step past it takes no longer than past another."""
    address = Address(view.short_id, Number(world.number))
    unpacked = f", over {size(MOVES.longest)} unpacked" if stored <= MOVES.most else ""
    words = f"it takes {size(stored)} compressed{unpacked}: too large to be read on each move. x reads it, and then"
    words += f" v and Y take it; stepwell show {address} prints it."
    return Content(f"{label}, not read".removeprefix(", "), note(words, width))


def _too_large(label: str, text: str, width: int) -> Content:
    """In place of a value that would hold up the keyboard."""
    words = f"it has {count(len(text))} characters: too many to be laid out. x shows them as they are stored,"
    words += " v pages through them, Y writes them to a file."
    return Content(label, note(words, width))


def _not_whole(payload: Payload, width: int) -> Document:
    """What is left of a long prompt that cannot be put together, below the words that say so."""
    remedy = ": x reads it" if payload.input_unread is not None else ""
    words = rows(note(clean(payload.problem or "") + remedy, width, Role.ERROR))
    rest = () if payload.input is None else rows(document(payload.input, payload.input_exact, width))
    return Rows(chain(words, rest))


def _prompt(view: View, world: World, given: object, label: str, width: int) -> Content:
    messages = messages_of(given)
    previous = world.previous_prompt
    if view.diff:
        return _diff(given, previous, label, width)
    if messages is None:
        return Content(label, document(world.payload.input, world.payload.input_exact, width))
    if previous is not None and previous.input_unread:
        label += f", prompt {previous.number} too large to compare"
    kept = _kept(given, world.payload, previous)
    label += f", {count(len(messages) - kept)} new of {count(len(messages))}" if kept else ""
    settings = {name: held for name, held in settings_of(given).items() if name != "model"}
    return Content(label, conversation(messages, kept, width, folded=not view.whole, besides=settings))


def _diff(given: object, previous: Payload | None, label: str, width: int) -> Content:
    if previous is None:
        return Content(f"{label}, diff", note("the first prompt of this agent: nothing to compare", width))
    label += f", against prompt {previous.number}"
    if previous.input_unread:
        words = f"prompt {previous.number} takes {size(previous.input_unread)} compressed: too large to be compared"
        return Content(label, note(words, width))
    if previous.problem is not None:
        return Content(label, note(clean(f"of prompt {previous.number} there is {previous.problem}"), width))
    before = value(previous.input or "null", previous.input_exact)
    old, new = messages_of(before) or [before], messages_of(given) or [given]
    pairs = chain(settings_diff(settings_of(before), settings_of(given)), prompt_diff(old, new, width))
    return Content(label, diff_document(pairs, width))


def _kept(given: object, payload: Payload, previous: Payload | None) -> int:
    """With how many messages of the previous prompt this one begins; its row says so where it is a difference to it."""
    if previous is None:
        return 0
    kept = kept_messages(given, payload.chain[0], previous.number) if payload.chain else None
    if kept is not None or previous.problem is not None:
        return kept or 0
    return new_messages(value(previous.input or "null", previous.input_exact), given)


def same_calls(view: View) -> str:
    """`same arguments and result as 5, 7, 9`"""
    timeline = view.timeline
    own = timeline.steps.numbers[timeline.cursor]
    in_loop = timeline.outline.place(timeline.cursor) is not None
    others = timeline.outline.same_calls(timeline.cursor) if in_loop else []
    if not others:
        return ""
    near = sorted(others, key=lambda number: abs(number - own))[:SHORT_LIST]
    more = f" and {count(len(others) - len(near))} more" if len(others) > len(near) else ""
    return f"same arguments and result as {', '.join(map(str, sorted(near)))}{more}"


def _output(view: View, world: World, width: int) -> Content:
    shown = _given_by(view, world, width)
    if view.editing:
        return Content("edited as JSON", shown.document)
    if view.what_if is not None and view.what_if.number == world.number and world.moment is Moment.AFTER:
        return Content(f"edited, {shown.label}", shown.document)
    return shown


def _given_by(view: View, world: World, width: int) -> Content:
    step, payload = world.step, world.payload
    if world.moment is Moment.ASKED:
        return Content("not there yet", note("what it gave came after this moment; a shows it", width))
    if payload.error is not None:
        return Content("raised", _error(payload, width, raw=Pane.OUTPUT in view.raw))
    if payload.output_unread is not None:
        return _unread(view, world, "", payload.output_unread, width)
    if payload.output is None:
        return _unfinished(view, world, width)
    if (
        step.type == STATE_UPDATE
        and Pane.OUTPUT not in view.raw
        and not _is_long_input(payload)
        and patch_of(_given(world)) is not None
    ):
        return Content("the state that it left", Rows(json_rows(dumps(_own_state(world)), width)))
    label = size(len(payload.output)) + _reprs(payload.output_exact)
    if Pane.OUTPUT in view.raw:
        return Content(f"{label}, as stored", document(payload.output, None, width, Mode.RAW))
    if is_too_large(payload.output, payload.output_exact):
        return _too_large(label, payload.output, width)
    if step.type == LLM_CALL:
        gave = value(payload.output, payload.output_exact)
        messages = reply_messages(gave)
        if step.finish_reason:
            label += f", finished: {clean(step.finish_reason)}"
        if messages is not None:
            return Content(label, conversation(messages, 0, width))
    shown = document(payload.output, payload.output_exact, width)
    if step.type == TOOL_CALL:
        prompt = not_looked_through(world)
        label += f", prompt {prompt} too large to search" if prompt is not None else ""
        return Content(label, _followed(shown, "", Role.DIM, width, view.sight))
    return Content(label, shown)


def _unfinished(view: View, world: World, width: int) -> Content:
    run = view.timeline.run
    if view.timeline.running:
        return Content("still running", note("no output yet", width))
    if run.source:
        return Content("none", note(f"the {clean(run.source)} file holds no answer to this call", width))
    if world.step.started is None:
        words = "none was written: in doubt, or still under way when its row was looked at"
        return Content("none", note(words, width))
    words = "recorded before it was applied and never confirmed: the process ended during this call"
    return Content("in doubt", note(words, width, Role.ERROR))


def _is_long_input(payload: Payload) -> bool:
    return payload.input_unread is not None or is_too_large(payload.input, payload.input_exact)


def _given(world: World) -> object:
    payload = world.payload
    return None if payload.input is None else value(payload.input, payload.input_exact)


def _scope(world: World) -> str | None:
    """The scope that the step wrote, or that its agent has."""
    step = world.step
    return SHARED if step.type == STATE_UPDATE and step.name == "shared" else step.agent


def _own_state(world: World) -> object:
    return world.states.get(_scope(world))


def _error(payload: Payload, width: int, *, raw: bool) -> Document:
    error = value(payload.error or "null", None)
    if raw or not isinstance(error, dict):
        return document(payload.error, None, width)
    head = ": ".join(str(part) for part in (error.get("type") or "error", error.get("message")) if part)
    words = [line for part in head.split("\n") for line in wrap_line((Span(clean(part), Role.ERROR),), width)]
    partial = payload.output
    rest = document(partial, payload.output_exact, width) if partial is not None else None
    return Rows(chain(words, rows(rest) if rest else ()))


def _followed(shown: Document, words: str, role: Role, width: int, sight: Sight | None = None) -> Document:
    """A document with a few words: what was cut stands above, where it is seen without scrolling."""
    weight = Role.ERROR if sight is not None and sight.cut else Role.DIM
    above = [line for text in sight_lines(sight) for line in wrap_line((Span(text, weight),), width)]
    below = list(rows(note(words, width, role))) if words else []
    if not above and not below:
        return shown
    return Rows(chain(above, rows(shown), below))


def _state(view: View, world: World, width: int) -> Content:
    step = world.step
    label = f"{clean(step.agent)}, " if step.agent else ""
    label += world_words(world.moment, world.number)
    label += _others(view, world)
    label += ", changed" if world.changed and world.moment == "after" else ", unchanged"
    if Pane.STATE in view.raw:
        return Content(label, _raw_states(world, width))
    return Content(label, Rows(_scopes(view, world, _scope(world), width)))


def _others(view: View, world: World) -> str:
    """Which other steps ran then, and which have no outcome: of a world that may be older than what is known now."""
    timeline = view.timeline
    known = set(() if timeline.running else chain(*timeline.steps.unfinished))
    doubtful = [number for number in world.unfinished if number in known]
    running = sorted({*world.running, *world.unfinished}.difference(doubtful))
    word = "in doubt" if timeline.run.recorded else "no output"
    told = {"still running": running, word: doubtful}
    return "".join(
        f"; {what}: {', '.join(map(str, numbers[:SHORT_LIST]))}" for what, numbers in told.items() if numbers
    )


def _scopes(view: View, world: World, scope: str | None, width: int) -> Iterator[Row]:
    """The state of the agent of this step, then the shared one; the others on demand in the zoomed pane."""
    scopes: Sequence[str | None] = [scope, *(s for s in (SHARED,) if s != scope and s in world.states)]
    if view.zoomed:
        scopes = [*scopes, *(s for s in world.states if s not in scopes)]
    for number, words in world.odd.items():
        if number == world.number:
            yield (Span(f"{number}: {clean(words)}", Role.ERROR),)
    for position, each in enumerate(scopes):
        if position or (each is not None and each != world.step.agent):
            yield (Span(clean(each or "run"), Role.HEADING),)
        changes = [change for change in world.changed if change.scope == each]
        state = world.states.get(each, MISSING)
        yield from rows(state_document(state, world.set_at.get(each, {}), changes, width, full=view.zoomed))


def _raw_states(world: World, width: int) -> Document:
    states = {scope if scope is not None else "run": state for scope, state in world.states.items()}
    return Rows(json_rows(dumps(states), width))
