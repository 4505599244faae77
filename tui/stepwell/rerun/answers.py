"""What a recorded step gave, as the objects that the agent got."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stepwell.core.codec import Opaque, Redacted, StandIn, Unavailable, parse
from stepwell.core.codec.decoder import Decoder, make
from stepwell.core.codec.references import find
from stepwell.core.recorded import RecordedStep
from stepwell.errors import EncodingError
from stepwell.rerun.stops import Refused


class RecordedError(Exception):
    """Stands for an exception whose class cannot be imported, or not be rebuilt, here.

    Of a subclass that has the name of the recorded one and, where that can be imported, derives from it. Its text is
    the recorded one; what else the exception held is missing.
    """


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call returned, and what it raised. `redacted` are the paths of texts that stand for others."""

    value: object
    error: BaseException | None = None
    redacted: tuple[str, ...] = ()


Refuse = Callable[[str], BaseException]
"""Makes what is raised where something is asked for that was not recorded."""


def outcome(run_id: UUID, step: RecordedStep, refuse: Refuse = Refused) -> Outcome:
    """The outcome of a step that has one. Raises Refused where it cannot be handed out, now or by `refuse` later."""
    payload = step.payload
    redacted: list[str] = []
    value: object = None
    if payload.output is not None:
        value = _rebuilt(run_id, step, payload.output, payload.output_exact, redacted)
    error: BaseException | None = None
    if payload.error is not None:
        error = _error(f"{str(run_id)[:8]}:{step.number}", parse(payload.error), refuse)
    return Outcome(value, error, tuple(redacted))


def _rebuilt(run_id: UUID, step: RecordedStep, plain: str, exact: str | None, redacted: list[str]) -> object:
    decoder = Decoder(None if exact is None else parse(exact), _make)
    where = f"{str(run_id)[:8]}:{step.number}"
    try:
        value = decoder.decode(parse(plain))
    except EncodingError as problem:
        raise Refused(f"{where}: its answer cannot be rebuilt: {problem}") from problem
    for path, stand_in in decoder.stand_ins:
        if isinstance(stand_in, Redacted):
            redacted.append(path)
        else:
            name = step.name or step.type
            raise Refused(
                f"{where}:{path} {_why(stand_in)}; let {name} return plain data, or execute it again as a pure tool"
            )
    return value


def _why(stand_in: StandIn) -> str:
    if isinstance(stand_in, Opaque):
        return f"is a {stand_in.type}, of which only the repr was recorded"
    assert isinstance(stand_in, Unavailable)
    return f"is a {stand_in.type}, which cannot be rebuilt here ({stand_in.reason})"


def _make(base: Any, head: list[Any], arg: Any, decoder: Decoder) -> object:
    """As the codec makes it, but what was left out is the text that was recorded in its place."""
    if head[0] == "redacted":
        decoder.stand_ins.append((decoder.path(), Redacted(base)))
        return base
    return make(base, head, arg, decoder)


class _Unrebuilt:
    """Part of an exception of which only the repr was recorded: whoever looks into it ends the replay."""

    def __init__(self, where: str, stand_in: StandIn, refuse: Refuse) -> None:
        self._where, self._stand_in, self._refuse = where, stand_in, refuse

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refuse(f"{self._where}: .{name} of its error is asked for, which {_why(self._stand_in)}")


def _error(where: str, recorded: object, refuse: Refuse) -> BaseException:
    found = recorded if isinstance(recorded, dict) else {"message": str(recorded)}

    def remake(base: Any, head: list[Any], arg: Any, decoder: Decoder) -> object:
        made = _make(base, head, arg, decoder)
        return _Unrebuilt(where, made, refuse) if isinstance(made, Opaque) else made

    try:
        made = Decoder(found.get("exact"), remake).decode(found.get("value"))
    except EncodingError:
        made = None
    if isinstance(made, BaseException):
        return made
    kind = _class_of(made) if isinstance(made, Unavailable) else None
    return _stand_in(str(found.get("type") or "Error"), str(found.get("message") or ""), kind)


def _class_of(made: Unavailable) -> type[BaseException] | None:
    """The class of what cannot be rebuilt, where that at least can be imported."""
    tag: Any = parse(made.tag)
    try:
        kind = find(tag[0][1])
    except (LookupError, TypeError):
        return None
    return kind if isinstance(kind, type) and issubclass(kind, BaseException) else None


def _stand_in(name: str, message: str, kind: type[BaseException] | None) -> BaseException:
    words = {"__module__": "stepwell.recorded", "__doc__": f"Stands for {name}."}
    short = name.rpartition(".")[2]
    error: BaseException
    try:
        bases = (RecordedError,) if kind is None else (RecordedError, kind)
        error = type(short, bases, {**words, "__new__": _new, "__init__": _no_init})(message)
    except TypeError:  # its class allows no such subclass
        error = type(short, (RecordedError,), words)(message)
    error.add_note(f"a stand-in: {name} was recorded, and cannot be rebuilt here")
    return error


def _new(cls: type[BaseException], message: str) -> BaseException:
    """Its own would want what is missing; so that of Python's own class below it."""
    below: Any = next(kind for kind in cls.__mro__ if kind.__module__ == "builtins")
    made: BaseException = below.__new__(cls, message)
    return made


def _no_init(self: BaseException, message: str) -> None:
    self.args = (message,)
