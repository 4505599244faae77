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
from stepwell.core.writings import (
    Stands,
    Written,
    changed_parts,
    is_alone,
    is_word,
    joined,
    keys_of,
    opened,
    stretch,
    tokens,
)


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
_LONG = 4
"""So many characters do not stand in a text by chance, among others of the same value."""
_HOW = {LLM_CALL: How.REPLY, TOOL_CALL: How.RESULT, STATE_UPDATE: How.STATE}
_SAID_BY = {LLM_CALL: ASSISTANT, TOOL_CALL: TOOL}


@dataclass(frozen=True, slots=True)
class Place:
    """A text that is new in what a step was given."""

    leaf: Leaf
    words: Sequence[str]
    """The numbers and names in it."""
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
    """All that the steps of a run were given, each text once."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self._starts: dict[int, int] = {}
        self._joined = ""

    def begin(self, number: int) -> None:
        """What was added by now is known before step `number` gives anything."""
        self._starts[number] = self._length

    def add(self, texts: Iterable[str]) -> None:
        """What a step was given that was new."""
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
        self._known: dict[str, bool] = {}

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
    def lost(self) -> dict[str, Path]:
        """The numbers and names within texts of the old that the new has no more, each with where it stood."""
        kept = (
            {word for leaf in leaves(self.new) for word in tokens(leaf.text)}
            if self.new is not MISSING
            else ()
        )
        return {
            word: leaf.path for leaf in leaves(self.old) for word in tokens(leaf.text) if word not in kept
        }

    @cached_property
    def _grown(self) -> list[tuple[Path, list[list[str]]]]:
        """The lists that have more items now, each with the texts by which its items of before are told."""
        found = []
        for part in changed_parts(self.old, self.new):
            old, new = opened(part.old), opened(part.new)
            if isinstance(old, list) and isinstance(new, list) and len(new) > len(old) > 0:
                found.append((part.path, [[leaf.text for leaf in leaves(item)] for item in old]))
        return found

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
        for word in place.words:
            if word in self.lost and self._is_newest(word, place):
                return self.lost[word]
        if is_own and said and sum(call == self.call for call in place.calls) == 1:
            return () if self._is_told(leaf.text) else None
        return next(
            (path for path, items in self._grown if len(items) > 1 and _has_all(leaf.text, items, _LONG)),
            None,
        )

    def _is_from_here(self, written: "Written", stands: Stands, place: Place, said: bool) -> bool:
        # What a state holds is always known from before; where just that is given, it is from there.
        is_state = self.step.type == STATE_UPDATE and place.leaf.text.strip() == stands.writing
        if written.path and not said and not is_state:
            if self._was_known(stands.writing, place):
                return False
            if len(stands.writing) < ENOUGH:
                return self._is_last(stands.writing, place)
        as_much = (
            step
            for step in self._newer(place)
            if step.type == self.step.type and _as_much(step, stands, place.leaf.text)
        )
        return sum(1 for _, _ in zip(as_much, range(place.copies), strict=False)) < place.copies

    def _newer(self, place: Place) -> Iterator[RecordedStep]:
        """The steps that have ended since, from which it may be as well; those of one's own agent go before others."""
        if place.agent != self.step.agent:
            return (step for step in place.steps if step.agent == place.agent or step.number > self.number)
        newer = takewhile(lambda step: step.number > self.number, reversed(place.steps))
        return (step for step in newer if step.agent == place.agent)

    def _is_newest(self, word: str, place: Place) -> bool:
        return not self._was_known(word, place) and self._is_last(word, place)

    def _is_last(self, text: str, place: Place) -> bool:
        """Whether no newer step has given it."""
        spelled = _spellings(text)
        return not any(
            step.number not in place.stale and _holds(_gave(step), spelled) for step in self._newer(place)
        )

    def _was_known(self, text: str, place: Place) -> bool:
        """Whether it was given to a step before this one, from which it may be as well."""
        if text not in self._known:
            self._known[text] = place.said.holds(_spellings(text), self.number)
        return self._known[text]

    def _is_told(self, text: str) -> bool:
        """Whether the result of this very call, in other words, may have what is other in it."""
        old = opened(self.old)
        if not isinstance(old, dict | list):
            return True
        parts = list(changed_parts(self.old, self.new))
        changed = {part.path for part in parts}
        words = (leaf.text.strip() for leaf in leaves(old) if leaf.path in changed)
        if any(word and is_word(word, text) for word in words):
            return True
        if any(_has_all(text, items) for _, items in self._grown):
            return True
        kept = (leaf.text for leaf in leaves(old) if leaf.path not in changed and len(leaf.text) >= _LONG)
        return not any(text_of in text for text_of in kept)


class Sources:
    """Those of a run, by their numbers."""

    def __init__(self) -> None:
        self._all: dict[int, Source] = {}
        self._by_key: defaultdict[str, set[int]] = defaultdict(set)
        self._by_word: dict[str, tuple[int, ...]] = {}
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
        for word in source.lost:
            self._by_word[word] = (*self._by_word.get(word, ()), source.number)

    def get(self, number: int) -> Source | None:
        return self._all.get(number)

    def that_may_be_in(self, place: Place) -> Iterator[Source]:
        """The newest first; those of which a part may stand in a text, or which nothing else leads to."""
        numbers = self._always.union(*(self._by_key.get(key, ()) for key in keys_of(place.leaf.text)))
        numbers.update(*(self._by_word.get(word, ()) for word in place.words))
        numbers |= self._by_call.get(place.leaf.owner, set())
        return (self._all[number] for number in sorted(numbers, reverse=True))


def _as_much(step: RecordedStep, stands: Stands, text: str) -> bool:
    """Whether what another step gave stands in the text at least as far."""
    output = viewed(step.payload.output, step.payload.output_exact)
    if output is None or step.payload.output is None:
        return False
    found = (stretch(each.write(), text, said=True) for each in renderings(output) if each.begin in text)
    return any(other is not None and other.length >= stands.length for other in found)


def _has_all(text: str, items: Sequence[Sequence[str]], shortest: int = 1) -> bool:
    """Whether something of each of them stands in a text, of so many characters at least."""
    return all(any(len(each) >= shortest and is_word(each, text) for each in item) for item in items)


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
