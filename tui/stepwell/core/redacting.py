"""A value without what must not be recorded: one walk over it, which changes nothing in place."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from stepwell.core.codec.encoder import Encoder
from stepwell.core.codec.parts import Parts
from stepwell.core.codec.values import Redacted, Unavailable
from stepwell.core.streamed import Streamed

_ATOMS: frozenset[type] = frozenset((bool, type(None), Redacted))
_FIELDS = frozenset(("model", "dataclass", "namedtuple", "exception"))
"""Heads of objects whose names are those of a class, and no data."""
_WORDS = re.compile(r"[\w$-]+")


class Rules(Protocol):
    """What is to be left out."""

    @property
    def known(self) -> Mapping[str, bool]:
        """What `hides` has said of some names."""

    @property
    def reads(self) -> bool:
        """Whether texts are looked at, and not only names."""

    def hides(self, name: str) -> bool:
        """Whether what stands under this name is left out, whatever it is."""

    def rewrite(self, name: str, text: str) -> Redacted | None:
        """What stands for a text; None for the text itself. Raises EncodingError."""


class Walk:
    """One look at one value."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._hides, self._known = rules.hides, rules.known
        self._reads = rules.reads
        self._taking = _Taking(self)
        self._quiet = _ATOMS if self._reads else _ATOMS | {str, int, float}
        """Types of which every value is kept as it is."""
        self._kinds: dict[type, Callable[[Any, str], object]] = {
            **dict.fromkeys(self._quiet, _same),
            dict: self._dict,
            list: self._list,
        }
        if self._reads:
            self._kinds[str] = self._str

    def value(self, value: object, name: str) -> object:
        """What to record of a value that stands under `name`."""
        return self._kinds.get(type(value), self._other)(value, name)

    def text(self, name: str, text: str) -> Redacted | None:
        """What stands for a string."""
        return self._rules.rewrite(name, text)

    def scalar(self, name: str, text: str) -> Redacted | None:
        """What stands for a number, a date or another value that is no string, by its text."""
        return self._rules.rewrite(name, text)

    def _str(self, value: str, name: str) -> object:
        return self.text(name, value) or value

    def _dict(self, value: dict[Any, Any], name: str) -> object:
        changes: dict[object, object] = {}
        known, quiet, kinds, plain = self._known, self._quiet, self._kinds, not self._reads
        for key, item in value.items():
            own = key
            if type(key) is not str:
                own, plain = _name(key), False
            if own is not None and (known[own] if own in known else self._hides(own)):
                if type(item) is not Redacted:
                    changes[key] = Redacted()
            elif (kind := type(item)) not in quiet:
                new = kinds.get(kind, self._other)(item, name if own is None else own)
                if new is not item:
                    changes[key] = new
        if plain:
            return {**value, **changes} if changes else value
        return self._with_keys(value, changes, name)

    def _with_keys(self, value: dict[Any, Any], changes: Mapping[object, object], name: str) -> object:
        """The dict with its changes, and with keys that are fit to be recorded."""
        made: dict[object, object] = {}
        changed = bool(changes)
        for key, item in value.items():
            new = self._key(key, name, made)
            changed = changed or new is not key
            made[new] = changes.get(key, item)
        return made if changed else value

    def _key(self, key: object, name: str, taken: Mapping[object, object]) -> object:
        """What to record of a key; no two become one."""
        new = self.scalar(name, key) or key if type(key) is str else self.value(key, name)
        number = 1
        text = new.text if isinstance(new, Redacted) else Redacted().text
        while new is not key and new in taken:
            number += 1
            new = Redacted(f"{text} {number}")
        return new

    def _fields(self, value: dict[str, Any], name: str) -> object:
        """`_dict` of an object's own names."""
        made: dict[str, object] = {}
        changed = False
        for key, item in value.items():
            new: object = Redacted() if self._hides(key) else self.value(item, key or name)
            changed = changed or new is not item
            made[key] = new
        return made if changed else value

    def _list(self, value: list[Any], name: str) -> object:
        if len(value) == 2 and (own := _name(value[0])) is not None and self._hides(own):
            # A name and what belongs to it, as in lists of headers.
            return value if type(value[1]) is Redacted else [value[0], Redacted()]
        made: list[object] | None = None
        quiet, kinds = self._quiet, self._kinds
        for index, item in enumerate(value):
            if (kind := type(item)) in quiet:
                continue
            new = kinds.get(kind, self._other)(item, name)
            if new is not item:
                made = list(value) if made is None else made
                made[index] = new
        return value if made is None else made

    def _other(self, value: object, name: str) -> object:
        if type(value) is Streamed and self._reads:
            return self._streamed(value, name)
        return self.parts(value, name)

    def parts(self, value: object, name: str) -> object:
        """A value that is no plain text, list or dict, by its parts; put together again as it was encoded."""
        before = self._taking.changes
        parts = Parts(value, ()) if type(value) in (int, float) else self._taking.parts(value)
        if type(parts.base) is dict:
            own = parts.head[0] in _FIELDS
            if own and self._reads and any(self.scalar(name, key) for key in parts.base):
                return self._dict(parts.base, name)  # a name that must not be recorded: nor is the class then
            new = self._fields(parts.base, name) if own else self._dict(parts.base, name)
            if parts.head[0] == "exception" and self._hides("message") and isinstance(new, dict):
                new["args"] = [Redacted()]  # the message is made of them
        elif isinstance(parts.base, list | tuple | set | frozenset | bytes | bytearray):
            new = parts.base if parts.base is value else self.value(parts.base, name)
        else:
            new = self._leaf(value, parts, name) or parts.base
        if type(new) is Redacted:
            return new
        if new is parts.base and self._taking.changes == before:
            return value
        return Unavailable("", new, "redacted", json.dumps([parts.head, parts.arg]))

    def _leaf(self, value: object, parts: Parts, name: str) -> Redacted | None:
        if parts.head[:1] == ("opaque",) and any(map(self._hides, _WORDS.findall(str(parts.base)))):
            return Redacted()  # a repr names what is in it
        if not self._reads or value is None:
            return None
        if isinstance(value, bytes | bytearray):
            return self.scalar(name, value.decode(errors="replace"))
        return self.scalar(name, _text(parts))

    def _streamed(self, value: Streamed, name: str) -> object:
        """A stream: what is left out may have come in several pieces, so that none alone tells."""
        gathering = _Gathering(self._rules)
        gathering.value(value.chunks, "chunks")
        whole = {}
        for own, pieces in gathering.pieces.items():
            found = self._rules.rewrite(own, "".join(text for text, _ in pieces))
            if found is not None and found.text != "".join(recorded for _, recorded in pieces):
                whole[own] = found
        return (_Joining(self._rules, whole) if whole else self).parts(value, name)


class _Taking(Encoder):
    """Takes objects apart; what they hold out of sight is redacted as well."""

    def __init__(self, walk: Walk) -> None:
        super().__init__()
        self._redacting = walk
        self.changes = 0

    def nested(self, value: object) -> list[str | None]:
        new = self._redacting.value(value, "")
        self.changes += new is not value
        return super().nested(new)

    def names(self, names: Iterable[str]) -> tuple[str | None, ...]:
        return Encoder().names(names)


class _Gathering(Walk):
    """Notes the pieces of text that stand under each name, in their order, and as they are recorded alone."""

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        self.pieces: dict[str, list[tuple[str, str]]] = {}

    def text(self, name: str, text: str) -> Redacted | None:
        found = super().text(name, text)
        self.pieces.setdefault(name, []).append((text, text if found is None else found.text))
        return found


class _Joining(Walk):
    """Puts the first of the pieces under a name in place of them all."""

    def __init__(self, rules: Rules, whole: dict[str, Redacted]) -> None:
        super().__init__(rules)
        self._whole = whole
        self._told: set[str] = set()

    def text(self, name: str, text: str) -> Redacted | None:
        if name not in self._whole or not text:
            return super().text(name, text)
        first = name not in self._told
        self._told.add(name)
        return self._whole[name] if first else Redacted("")


def _same(value: object, _: str) -> object:
    return value


def _name(key: object) -> str | None:
    """The name that a key is, None where it is no text."""
    if isinstance(key, str):
        return str.__str__(key)
    return key.decode(errors="replace") if isinstance(key, bytes) else None


def _text(parts: Parts) -> str:
    base = parts.base
    if parts.head == ("decimal",) and isinstance(parts.arg, str):
        return parts.arg
    try:
        return str(base)
    except ValueError:  # an integer of more digits than Python prints
        return hex(base) if isinstance(base, int) else ""
