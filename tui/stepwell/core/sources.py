"""What a step gave, and whether a text that another one was given is from there and would be another now."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import takewhile

from stepwell.core.codec import dump
from stepwell.core.leaves import ASSISTANT, TOOL, Leaf, leaves
from stepwell.core.recorded import RecordedStep
from stepwell.core.renderings import ENOUGH, renderings
from stepwell.core.shown import viewed
from stepwell.core.state import Path
from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL
from stepwell.core.world import MISSING
from stepwell.core.writings import Stands, Written, changed_parts, is_alone, is_word, joined, keys_of, stretch


class How(StrEnum):
    """What a step was given by another one."""

    RESULT = "result"
    REPLY = "reply"
    CALL = "call"
    """The reply asked for this tool call."""
    STATE = "state"


_CONTENTS = frozenset(
    ("content", "text", "output", "arguments", "thinking", "reasoning", "reasoning_content", "refusal")
)
"""Under which names what a model or a tool said stands in a prompt."""
_HOW = {LLM_CALL: How.REPLY, TOOL_CALL: How.RESULT, STATE_UPDATE: How.STATE}
_SAID_BY = {LLM_CALL: ASSISTANT, TOOL_CALL: TOOL}


@dataclass(frozen=True, slots=True)
class Place:
    """A text that is new in what a step was given."""

    leaf: Leaf
    agent: str | None
    """Whose step that one is."""
    copies: int
    """So many of it are."""
    steps: Sequence[RecordedStep]
    """Those that had ended by then, the newest last."""
    stale: Collection[int]
    """Of which nobody knows any more what they give."""
    calls: Collection[str | None]
    """The id of the call that each tool call of the run is the result of."""
    said: "Said"


class Said:
    """All that the steps of a run were given and gave, each text once."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._starts: dict[int, int] = {}
        self._joined = ""

    def begin(self, number: int) -> None:
        """What was added by now is known before step `number` gives anything."""
        self._starts[number] = self._length

    def add(self, texts: Iterable[str]) -> None:
        """What a step was given that was new, or gave."""
        text = "\n".join([*texts, ""])
        self._texts.append(text)
        self._length += len(text)

    def holds(self, spelled: Sequence[str], number: int) -> bool:
        """Whether one of these texts was known before step `number` gave anything."""
        end = self._starts[number]
        if end > len(self._joined):
            self._joined = "".join([self._joined, *self._texts])
            self._texts.clear()
        return any(self._find(text, end) for text in spelled)

    def _find(self, text: str, end: int) -> bool:
        at = self._joined.find(text, 0, end)
        while at >= 0:
            if is_alone(self._joined, at, at + len(text)):
                return True
            at = self._joined.find(text, at + 1, end)
        return False


class Source:
    """A step that gave `old` and would give `new`, MISSING where that is not known."""

    def __init__(self, step: RecordedStep, old: object, new: object, call: str | None = None) -> None:
        """`call`: the id of the call that it is the result of."""
        self.step, self.old, self.new = step, old, new
        self.number = step.number
        self.how = _HOW.get(step.type, How.RESULT)
        self.call = call
        self._earlier: dict[Path, bool] = {}

    @cached_property
    def _parts(self) -> list["Written"]:
        found = [*changed_parts(self.old, self.new), *joined(self.old, self.new)]
        return [Written(part) for part in found]

    @cached_property
    def keys(self) -> frozenset[str] | None:
        """Of these `keys_of` a text has one wherever a part stands in it; None where nothing is said of that."""
        found: set[str] = set()
        for written in self._parts:
            if written.keys is None:
                return None
            found |= written.keys
        return frozenset(found)

    @cached_property
    def _spot(self) -> Path:
        """The innermost part that holds all that is other."""
        paths = [
            part.path for part in changed_parts(self.old, self.new) if not isinstance(part.old, dict | list)
        ]
        if self.new is MISSING or not paths:
            return ()
        first, last = min(paths, key=_order), max(paths, key=_order)
        return next(
            (first[:at] for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]),
            first,
        )

    def in_leaf(self, place: Place) -> Path | None:
        """Which part of the old stands in a text of another step's input, and would not if it were the new."""
        leaf = place.leaf
        if self.step.type == STATE_UPDATE and leaf.role in (TOOL, ASSISTANT):
            return None  # a result or a reply, whatever the state has of it
        is_own = self.call is not None and leaf.owner == self.call
        if self.call is not None and leaf.owner is not None and not is_own:
            return None
        said = leaf.name in _CONTENTS and (
            is_own or (leaf.role == _SAID_BY.get(self.step.type) and place.agent == self.step.agent)
        )
        for written in self._parts:
            stands = written.stands(leaf.text, said)
            if stands is None or not self._is_from_here(written, stands, place, said):
                continue
            if not stands.would_stand(written.new):
                return self._spot if self._spot[: len(written.path)] == written.path else written.path
            if not written.path:
                return None
        is_only = is_own and said and sum(call == self.call for call in place.calls) == 1
        return () if is_only and self._is_told(leaf.text) else None

    def _is_from_here(self, written: "Written", stands: Stands, place: Place, said: bool) -> bool:
        newer = takewhile(lambda step: step.number > self.number, reversed(place.steps))
        # What a state holds is always known from before; where just that is given, it is from there.
        is_state = self.step.type == STATE_UPDATE and place.leaf.text.strip() == stands.writing
        if written.path and not said and not is_state:
            if self._stood_before(written, stands.writing, place):
                return False
            if len(stands.writing) < ENOUGH:
                spelled = _spellings(stands.writing)
                return not any(
                    step.number not in place.stale and _holds(_gave(step), spelled) for step in newer
                )
        as_much = (
            step for step in newer if step.type == self.step.type and _as_much(step, stands, place.leaf.text)
        )
        return sum(1 for _, _ in zip(as_much, range(place.copies), strict=False)) < place.copies

    def _stood_before(self, written: "Written", text: str, place: Place) -> bool:
        """Whether a part is known from an earlier step, which it may be from as well."""
        if written.path not in self._earlier:
            spelled = _spellings(text)
            self._earlier[written.path] = place.said.holds(spelled, self.number)
        return self._earlier[written.path]

    def _is_told(self, text: str) -> bool:
        """Whether the result of this very call, in other words, may have what is other in it."""
        if not isinstance(self.old, dict | list):
            return True
        changed = {part.path for part in changed_parts(self.old, self.new)}
        kept = (leaf.text for leaf in leaves(self.old) if leaf.path not in changed and len(leaf.text) > 3)
        return not any(text_of in text for text_of in kept)


class Sources:
    """Those of a run, by their numbers."""

    def __init__(self) -> None:
        self._all: dict[int, Source] = {}
        self._by_key: defaultdict[str, set[int]] = defaultdict(set)
        self._by_call: defaultdict[str | None, set[int]] = defaultdict(set)
        self._always: set[int] = set()

    def add(self, source: Source) -> None:
        """Also in place of the one with its number."""
        self._all[source.number] = source
        if source.keys is None:
            self._always.add(source.number)
        if source.call is not None:
            self._by_call[source.call].add(source.number)
        for key in source.keys or ():
            self._by_key[key].add(source.number)

    def get(self, number: int) -> Source | None:
        return self._all.get(number)

    def that_may_be_in(self, leaf: Leaf) -> Iterator[Source]:
        """The newest first; those of which a part may stand in a text, or which nothing else leads to."""
        numbers = self._always.union(*(self._by_key.get(key, ()) for key in keys_of(leaf.text)))
        numbers |= self._by_call.get(leaf.owner, set())
        return (self._all[number] for number in sorted(numbers, reverse=True))


def _as_much(step: RecordedStep, stands: Stands, text: str) -> bool:
    """Whether what another step gave stands in the text at least as far."""
    output = viewed(step.payload.output, step.payload.output_exact)
    if output is None or step.payload.output is None:
        return False
    found = (stretch(each.write(), text, said=True) for each in renderings(output) if each.begin in text)
    return any(other is not None and other.length >= stands.length for other in found)


def _gave(step: RecordedStep) -> str:
    return step.payload.output or ""


def _spellings(text: str) -> tuple[str, ...]:
    """A text as it is, and inside of JSON once and twice."""
    once = dump(text)[1:-1]
    return tuple({text: None, once: None, dump(once)[1:-1]: None})


def _holds(text: str, spelled: Sequence[str]) -> bool:
    return any(each in text and is_word(each, text) for each in spelled)


def _order(path: Path) -> tuple[tuple[bool, object], ...]:
    return tuple((isinstance(part, str), part) for part in path)
