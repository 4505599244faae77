"""From the plain JSON and what it lost, back to the value, or to a JSON-like form of it for people."""

import json
from typing import Any, Protocol, cast

from stepwell.core.codec import classes, containers, scalars
from stepwell.core.codec.order import jsonb_order
from stepwell.core.codec.parts import Make
from stepwell.core.codec.references import type_name
from stepwell.core.codec.text import parse, unmask
from stepwell.core.codec.values import Opaque, Redacted, StandIn, Unavailable
from stepwell.errors import EncodingError

Node = Any

# Both of the decoder's purposes need these: they turn JSON into JSON.
_NATIVE: dict[str, Make] = {
    "mask": lambda base, _, arg, __: unmask(base, arg),
    "hex": lambda base, *_: int(base, 16),
    "f": lambda base, *_: float(base),
    "-0": lambda *_: -0.0,
}
_MAKE: dict[str, Make] = {**_NATIVE, **scalars.MAKE, **containers.MAKE, **classes.MAKE}


class Maker(Protocol):
    """Turns a restored base into what it stands for."""

    def __call__(self, base: Any, head: list[Any], arg: Any, decoder: "Decoder") -> object: ...


class Decoder:
    """Restores one value. `maker` decides what becomes of values that are not JSON-shaped."""

    def __init__(self, exact: object, maker: Maker) -> None:
        document: dict[str, Any] = exact if isinstance(exact, dict) else {"v": 1}
        if document.get("v") != 1:
            raise EncodingError("the value was recorded by a newer version of Stepwell; upgrade this one")
        self.stand_ins: list[tuple[str, StandIn]] = []
        self._maker = maker
        self._node: Node = document.get("t")
        self._rules = {jsonb_order(tuple(keys)): keys for keys in document.get("o", ())}
        self._others: list[list[str]] = document.get("x", [])
        self._heads: list[list[Any]] = document.get("h", [])
        self._path: list[str | int] = []

    def decode(self, plain: object) -> object:
        """The value. Raises EncodingError when it is nested too deeply for the interpreter, or was edited."""
        try:
            return self._restore(plain, self._node)
        except RecursionError:
            raise EncodingError("the recorded value is nested too deeply to be rebuilt here") from None
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            message = (
                f"the exact part of {self.path()} does not fit its plain part; was the row edited by hand?"
            )
            raise EncodingError(message) from error

    def nested(self, texts: list[str | None]) -> Any:
        plain, exact = texts
        inner = Decoder(parse(exact) if exact else None, self._maker)
        value = inner.decode(parse(plain or "null"))
        self.stand_ins += [(self.path(), stand_in) for _, stand_in in inner.stand_ins]
        return value

    def names(self, names: list[str | None]) -> list[str]:
        return cast(list[str], self.nested(names[1:]) if names and names[0] is None else names)

    def path(self) -> str:
        """Where in the plain JSON the decoder stands."""
        steps = (
            f"[{step}]"
            if isinstance(step, int)
            else f".{step}"
            if step.isidentifier()
            else f"[{json.dumps(step)}]"
            for step in self._path
        )
        return "$" + "".join(steps)

    def _restore(self, plain: Any, node: Node) -> Any:
        if node is None:
            return self._ordered(plain) if self._rules else plain
        if isinstance(node, dict):
            if isinstance(plain, dict):
                return self._dict(plain, node, self._rules.get(tuple(plain), plain))
            return self._list(plain, node)
        name, inner, arg = (*node, None, None)[:3]
        if name == "order":
            keys = self._others[arg] if isinstance(arg, int) else _permuted(plain, arg)
            return self._dict(plain, inner or {}, keys)
        head = self._heads[name] if isinstance(name, int) else [name]
        return self._maker(self._restore(plain, inner), head, arg, self)

    def _ordered(self, plain: Any) -> Any:
        """A part about which nothing is said but the order of keys."""
        if type(plain) is dict:
            made = {}
            for key in self._rules.get(tuple(plain), plain):
                item = plain[key]
                made[key] = self._ordered(item) if type(item) is dict or type(item) is list else item
            return made
        if type(plain) is list:
            return [
                self._ordered(item) if type(item) is dict or type(item) is list else item for item in plain
            ]
        return plain

    def _dict(self, plain: dict[str, Any], nodes: dict[str, Node], keys: Any) -> dict[str, Any]:
        made = {}
        for key in keys:
            made[key] = self._item(key, plain[key], nodes.get(key))
        return made

    def _list(self, plain: list[Any], nodes: dict[str, Node]) -> list[Any]:
        by_index: dict[int, Node] = {}
        for key, node in nodes.items():
            first, _, last = key.partition("-")
            stop = min(int(last or first) + 1, len(plain))
            by_index.update(dict.fromkeys(range(int(first), stop), node))
        made = []
        for index, item in enumerate(plain):
            made.append(self._item(index, item, by_index.get(index)))
        return made

    def _item(self, step: str | int, plain: Any, node: Node) -> Any:
        if node is None:
            return self._ordered(plain) if self._rules else plain
        self._path.append(step)
        item = self._restore(plain, node)
        self._path.pop()
        return item


def _permuted(plain: dict[str, Any], places: list[int]) -> list[str]:
    stored = jsonb_order(tuple(plain))
    return [stored[place] for place in places]


def make(base: Any, head: list[Any], arg: Any, decoder: Decoder) -> object:
    """The object itself, imported and rebuilt, or a stand-in for it."""
    code, *rest = head
    made: StandIn
    if code == "opaque":
        made = Opaque(decoder.names(rest)[0], base)
    elif code == "redacted":
        made = Redacted(base)
    else:
        try:
            return _MAKE[code](base, rest, arg, decoder)
        except EncodingError:
            raise
        except Exception as error:  # importing and rebuilding run foreign code, which may raise anything
            reason = str(error) or type(error).__name__
            tag = json.dumps([head, arg])
            made = Unavailable(type_name(rest[0]) if rest and rest[0] else code, base, reason, tag)
    decoder.stand_ins.append((decoder.path(), made))
    return made


def keep(base: Any, head: list[Any], arg: Any, decoder: Decoder) -> object:
    """A stand-in that encodes to what the object did; a value of JSON's own kinds as it was."""
    if head[0] in _NATIVE or head[0] == "keys":
        return _MAKE[head[0]](base, [], arg, decoder)
    if head[0] == "opaque":
        return Opaque(decoder.names(head[1:])[0], base)
    if head[0] == "redacted":
        return Redacted(base)
    return Unavailable(head[0], base, "", json.dumps([head, arg]))


def show(base: Any, head: list[Any], arg: Any, decoder: Decoder) -> object:
    """The base, which is JSON-shaped already, except where another form says more. Imports nothing."""
    code = head[0]
    if code == "hex":
        return base  # an int so long that Python refuses to print it
    if code in _NATIVE:
        return _NATIVE[code](base, [], arg, decoder)
    if code in ("b", "bytearray"):
        data = scalars.make_bytes(base, [], arg, decoder)
        return repr(data if code == "b" else bytearray(data))
    if code == "decimal":
        return base if arg is None else arg
    if code == "keys":
        names = {name: decoder.nested(texts) for name, *texts in arg}
        return {names[key] if isinstance(names.get(key), str) else key: item for key, item in base.items()}
    return base
