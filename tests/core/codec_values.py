"""Values for the codec's tests: strategies, sample classes, strict equality, and jsonb in plain Python."""

import dataclasses
import enum
import json
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pydantic
from hypothesis import strategies as st

from stepwell.core import codec


class Colour(enum.Enum):
    RED = "red"
    TUPLE = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Mode(enum.StrEnum):
    FAST = "fast"


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    y: object
    x: object


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    total: object
    id: object = 0


@dataclasses.dataclass
class Basket:
    items: list[object]


class Label(str):
    __slots__ = ("note",)


class Metres(float):
    pass


class Count(int):
    pass


class Names(list[object]):
    pass


class Config(dict[object, object]):
    pass


class Tool(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)
    name: str = "none"
    arguments: Any = None
    _calls: Any = pydantic.PrivateAttr(default=None)


class RefusedError(Exception):
    def __init__(self, code: int, *, hint: str) -> None:
        super().__init__(code)
        self.hint = hint


# -- strategies --


def _has_hash(value: object) -> bool:
    try:
        hash(value)
    except TypeError:  # a bytearray, or a signalling NaN
        return False
    return True


text = st.text(st.characters(codec=None)) | st.sampled_from(
    [
        "",
        "\0",
        "\\u0000 beside \0",
        "\ud800",
        "\udc80\udcff",
        "\ud83d\ude00",
        "\u2400\0",
        "\ufffd\udfff",
        "ü\U0001f600",
    ]
)
numbers = (
    st.integers()
    | st.integers(-2, 2).map(lambda number: 10**5000 * number + 1)  # more digits than int() may read
    | st.floats()
    | st.sampled_from([0.0, -0.0, 1.0, 1e16, -1e16, 1e300, 5e-324, 2**53, 10**30])
)
atoms = st.none() | st.booleans() | numbers | text
json_shaped = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=5), max_leaves=25
)

_zones = st.none() | st.sampled_from(
    [
        UTC,
        timezone(timedelta(hours=5, minutes=30)),
        timezone(timedelta(hours=-3), "BRT"),
        ZoneInfo("Europe/Berlin"),
    ]
)
_scalars = (
    atoms
    | st.binary()
    | st.binary().map(bytearray)
    | st.datetimes(timezones=_zones)
    | st.builds(
        lambda fold: datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=fold),
        st.integers(0, 1),
    )
    | st.builds(lambda fold: datetime(2024, 10, 27, 2, 30, fold=fold), st.integers(0, 1))
    | st.dates()
    | st.builds(time.replace, st.times(), tzinfo=_zones)
    | st.timedeltas()
    | st.decimals()
    | st.sampled_from(
        [Decimal(digits) for digits in ("1.10", "-0", "-0.00", "1E+2", "sNaN", "-Infinity", "0.1", "1e-400")]
    )
    | st.uuids()
    | st.sampled_from([Colour.RED, Colour.TUPLE, Level.LOW, Mode.FAST, Right.READ | Right.WRITE, Right(0)])
    | text.filter(lambda value: "\0" not in value).map(PurePosixPath)
    | st.sampled_from([PureWindowsPath("C:/x"), int, dict, Order, json.dumps, len])
    | text.map(Label)
    | st.floats().map(Metres)
    | st.integers().map(Count)
)


def _named(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The strategy with a short repr: hypothesis warns of one that spells out all its parts."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Any:
        return draw(strategy)

    return drawn()


scalars = _named(_scalars)
hashable = _named(
    st.recursive(
        scalars.filter(lambda value: _has_hash(value)),
        lambda inner: (
            st.lists(inner, max_size=3).map(tuple)
            | st.frozensets(inner, max_size=3)
            | st.builds(Point, inner, inner)
        ),
        max_leaves=4,
    )
)


def _with_private(tool: Tool, calls: object) -> Tool:
    tool._calls = calls
    return tool


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    items = st.lists(inner, max_size=4)
    keyed = st.dictionaries(hashable, inner, max_size=4)
    extra = st.dictionaries(
        text.filter(lambda key: not key.startswith("_") and key not in dir(Tool)), inner, max_size=2
    )
    return (
        items
        | items.map(tuple)
        | items.map(Names)
        | items.map(deque)
        | keyed
        | keyed.map(Config)
        | keyed.map(OrderedDict)
        | keyed.map(lambda value: defaultdict(list, value))
        | st.sets(hashable, max_size=4)
        | st.builds(Point, inner, inner)
        | st.builds(Order, inner, inner)
        | st.builds(Basket, items)
        | st.builds(lambda more, item: Tool.model_construct(arguments=item, **more), extra, inner)
        | st.builds(_with_private, st.builds(lambda item: Tool(name="t", arguments=item), inner), inner)
    )


values = st.recursive(scalars, _containers, max_leaves=12)
counters = st.lists(text).map(Counter)


# -- equality that `==` is too lax for --


def same(one: Any, other: Any) -> bool:
    """Equal in type, in order of keys, in the sign of zero and in NaN, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return float.hex(one) == float.hex(other)
    if isinstance(one, Decimal):
        return str(one) == str(other)
    if isinstance(one, enum.Enum | type):
        return one is other
    if isinstance(one, datetime | time):
        return one.isoformat() == other.isoformat() and one.fold == other.fold and _zone(one) == _zone(other)
    if isinstance(one, set | frozenset):
        return sorted(map(codec.canonical, one)) == sorted(map(codec.canonical, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items())) and same(vars_of(one), vars_of(other))
    if isinstance(one, list | tuple | deque):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, pydantic.BaseModel):
        return all(same(getattr(one, part), getattr(other, part)) for part in pydantic.BaseModel.__slots__)
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)


def vars_of(value: object) -> list[object]:
    return [getattr(value, "__dict__", None) and sorted(vars(value)), getattr(value, "default_factory", None)]


def _zone(value: datetime | time) -> tuple[object, ...]:
    return type(value.tzinfo), str(value.tzinfo), value.tzname()


# -- jsonb --


class _Numeric(str):
    __slots__ = ()


def jsonb(text: str) -> str:
    """What Postgres prints for `text::jsonb`. Raises ValueError for what the cast refuses."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("not UTF-8")
    parsed = json.loads(
        text, parse_int=_numeric, parse_float=_numeric, parse_constant=_refuse, object_pairs_hook=dict
    )
    return _printed(parsed)


def _refuse(token: str) -> None:
    raise ValueError(f"not JSON: {token}")


def _numeric(digits: str) -> _Numeric:
    number = Decimal(digits)
    printed = format(abs(number) if number == 0 else number, "f")
    whole, _, fraction = printed.lstrip("-").partition(".")
    if len(whole) > 131072 or len(fraction) > 16383:
        raise ValueError("beyond numeric")
    return _Numeric(printed)


def _printed(value: Any) -> str:
    if isinstance(value, _Numeric):
        return str(value)
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise ValueError("not text for jsonb")
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_printed, value))}]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return f"{{{', '.join(f'{_printed(key)}: {_printed(value[key])}' for key in keys)}}}"
    return json.dumps(value)


def stored(encoded: codec.Encoded) -> tuple[object, object]:
    """Both columns as a reader gets them."""
    exact = None if encoded.exact is None else codec.parse(jsonb(encoded.exact))
    return codec.parse(jsonb(encoded.plain)), exact


def through_jsonb(value: object) -> Any:
    return codec.decode(*stored(codec.encode(value)))
