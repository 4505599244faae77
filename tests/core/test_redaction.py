"""What is left out of a record: by name at any depth, or by text, and never in place."""

import re
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any

import pydantic
import pytest

from stepwell.core import codec
from stepwell.core.codec import Redacted
from stepwell.core.redaction import Redactor
from stepwell.core.streamed import Streamed
from stepwell.errors import EncodingError

SECRET = "hunter2"
LEFT_OUT = Redacted()
Pair = namedtuple("Pair", "user password")


class Login(pydantic.BaseModel):
    """A model with an extra field, a nested model and a private attribute."""

    model_config = pydantic.ConfigDict(extra="allow")
    user: str
    password: str = ""
    inner: "Login | None" = None
    _cache: dict[str, str] = pydantic.PrivateAttr(default_factory=lambda: {"password": SECRET})


@dataclass(frozen=True)
class Account:
    user: str
    password: str = field(repr=False)
    tags: tuple[object, ...] = ()


class Headers(dict[str, str]):
    pass


class Words(Enum):
    PASS = SECRET


class Client:
    """An object that is kept by its repr."""

    def __repr__(self) -> str:
        return f"Client(url='db1', auth={{'password': '{SECRET}'}})"


class Frame:
    """A table that is kept by its repr."""

    def __repr__(self) -> str:
        return f"   user  Password\n0   ada  {SECRET}"


class RefusedError(Exception):
    def __init__(self, message: str, **details: str) -> None:
        super().__init__(message)
        self.details = details


def texts(value: object) -> str:
    encoded = codec.encode(value)
    return f"{encoded.plain} {encoded.exact}"


def back(value: object) -> Any:
    """The value as it comes back from the columns."""
    encoded = codec.encode(value)
    return codec.decode(codec.parse(encoded.plain), encoded.exact and codec.parse(encoded.exact))


def scrub(_: str, text: str) -> str:
    return re.sub(SECRET, "[word]", text)


by_name = Redactor(["*password*", "api_key"])
by_text = Redactor([], [scrub])

NAMED: list[object] = [
    {"password": SECRET, "user": "ada"},
    {"a": [{"b": ({"Password": SECRET},)}]},
    {"db-password": {"old": SECRET, "new": [SECRET]}},
    {b"password": SECRET, 7: 8},
    Login.model_validate({"user": "ada", "password": SECRET, "passwords": [SECRET], "inner": {"user": "b"}}),
    Account("ada", SECRET, ({"password": SECRET},)),
    Pair("ada", SECRET),
    Headers(password=SECRET),
    OrderedDict(password=SECRET),
    defaultdict(list, password=[SECRET]),
    deque([{"password": SECRET}]),
    [("Password", SECRET), ("accept", "*/*")],
    [[b"PASSWORD", SECRET]],
    RefusedError("no", password=SECRET),
    Streamed([{"password": SECRET}, Login(user="ada", password=SECRET)]),
    Client(),
    Frame(),
]
WITHIN: list[object] = [
    f"my {SECRET}!",
    {"a": [f"is {SECRET}"]},
    {SECRET: 1, f"{SECRET}2": 2, (SECRET, 1): 3},
    {f"x{SECRET}": {"y": SECRET.encode()}},
    {SECRET, "other"},
    frozenset([(SECRET,)]),
    b"\xff" + SECRET.encode(),
    bytearray(SECRET.encode()),
    Words.PASS,
    Login.model_validate({"user": SECRET, "more": [SECRET]}),
    Login.model_validate({"user": "ada", f"of {SECRET}": [1]}),
    Account(SECRET, SECRET, (SECRET,)),
    Pair(SECRET, SECRET),
    RefusedError(f"no {SECRET}", why=SECRET),
    KeyError(SECRET),
    ExceptionGroup("two", [ValueError(SECRET)]),
    Client(),
    Streamed(["hun", "ter2", " and on"]),
    Streamed([{"delta": {"content": piece}} for piece in ("a h", "u", "nter", "2")]),
    Streamed([SECRET[:4], SECRET[4:] + " tail"], value=SECRET),
]


@pytest.mark.parametrize("value", NAMED, ids=lambda value: type(value).__name__)
def test_what_stands_under_a_hidden_name_is_left_out_of_every_kind_of_value(value: object) -> None:
    before = repr(value)
    assert SECRET not in texts(by_name(value))
    assert "[redacted]" in texts(by_name(value))
    assert repr(value) == before


@pytest.mark.parametrize("value", WITHIN, ids=lambda value: type(value).__name__)
def test_a_text_that_is_rewritten_is_in_no_kind_of_value(value: object) -> None:
    recorded = texts(by_text(value))
    assert SECRET not in recorded
    assert "[word]" in recorded
    joined = codec.view(*map(codec.parse, texts_of(by_text(value))))
    assert SECRET not in "".join(leaves(joined))


def texts_of(value: object) -> tuple[str, str]:
    encoded = codec.encode(value)
    return encoded.plain, encoded.exact or "null"


def leaves(value: object) -> list[str]:
    """Every string of a displayed value, in order: what a screen may put side by side."""
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in leaves(item)]
    if isinstance(value, list):
        return [text for item in value for text in leaves(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("name", ["api_key", "API-KEY", "apiKey", "ApiKey", "Api_Key"])
def test_a_name_is_hidden_however_it_is_spelled(name: str) -> None:
    assert by_name({name: 1, "key": 2}) == {name: LEFT_OUT, "key": 2}


@pytest.mark.parametrize(
    ("pattern", "hidden", "shown"),
    [
        ("token", "token", "tokens"),
        ("*_token", "access_token", "prompt_tokens"),
        ("x?", "x1", "x"),
        ("s[a-c]", "sb", "sd"),
        ("a.b", "a.b", "aXb"),
    ],
)
def test_patterns_are_those_of_a_shell_and_of_the_whole_name(pattern: str, hidden: str, shown: str) -> None:
    redact = Redactor([pattern])
    assert redact.hides(hidden)
    assert not redact.hides(shown)


@pytest.mark.parametrize(
    "value", [{"user": "ada", "list": [1, 2.5, None, (3,)]}, Account("a", "b"), 7, "x", {4}]
)
def test_what_needs_no_redaction_is_the_same_object(value: object) -> None:
    assert Redactor(["secret"], [lambda _, text: text])(value) is value


def test_objects_come_back_as_their_class_with_the_place_marked() -> None:
    model = back(by_name(Login(user="ada", password=SECRET)))
    assert (type(model), model.user, model.password) == (Login, "ada", LEFT_OUT)
    assert model._cache == {"password": LEFT_OUT}
    assert back(by_name(Account("ada", SECRET))) == Account("ada", LEFT_OUT)  # type: ignore[arg-type]  # no str
    assert back(by_name(Pair("ada", SECRET))) == Pair("ada", LEFT_OUT)
    error = back(by_text(RefusedError(f"no {SECRET}")))
    assert error.args == (Redacted("no [word]"),)


def test_stand_ins_tell_what_was_left_out_and_where() -> None:
    encoded = codec.encode(by_name({"a": [{"password": 1}]}))
    found = codec.rebuild(codec.parse(encoded.plain), codec.parse(encoded.exact or ""))
    assert found.stand_ins == (("$.a[0].password", LEFT_OUT),)


def test_a_text_that_merely_says_redacted_is_no_redaction() -> None:
    assert back(by_name({"note": "[redacted]"})) == {"note": "[redacted]"}


def test_keys_that_are_rewritten_stay_apart() -> None:
    recorded = back(
        Redactor([], [lambda _, text: "[name]" if text in "ab" else text])({"a": 1, "b": 2, "c": 3})
    )
    assert recorded == {Redacted("[name]"): 1, Redacted("[name] 2"): 2, "c": 3}


def test_a_function_gets_the_nearest_name_and_the_text_of_whatever_is_no_container() -> None:
    seen: list[tuple[str, str]] = []

    def look(name: str, text: str) -> str:
        seen.append((name, text))
        return text

    Redactor([], [look])(
        {"who": [{"age": 7, "paid": Decimal("1.10")}, "ada"], "raw": b"x", "on": True}, "args"
    )
    values = [pair for pair in seen if pair[0] not in ("args", "who") or pair == ("who", "ada")]
    assert values == [("age", "7"), ("paid", "1.10"), ("who", "ada"), ("raw", "x")]


def test_functions_and_patterns_all_apply_and_none_leaves_out() -> None:
    redact = Redactor(["pin"], [scrub, lambda _, text: None if "[word]" in text else text])
    assert redact({"pin": 1, "a": SECRET, "b": "x"}) == {"pin": LEFT_OUT, "a": LEFT_OUT, "b": "x"}


def broken(_: str, text: str) -> str:
    raise ValueError(text)


@pytest.mark.parametrize("rewrite", [broken, lambda *_: 7, lambda: "too few"])
@pytest.mark.parametrize("value", [SECRET, {SECRET: 1}, Login(user=SECRET), [(SECRET,)]], ids=str)
def test_a_function_that_fails_lets_nothing_out_not_even_in_the_error(rewrite: Any, value: object) -> None:
    with pytest.raises(EncodingError) as caught:
        Redactor([], [rewrite])(value)
    assert SECRET not in str(caught.value)


def test_a_value_within_itself_is_refused() -> None:
    ring: list[object] = []
    ring.append({"a": ring})
    with pytest.raises(EncodingError, match="in itself"):
        by_name(ring)


def test_whole_pieces_of_a_stream_stay_pieces() -> None:
    recorded = back(by_text(Streamed(["one ", f"{SECRET} ", "three"])))
    assert recorded.chunks == ["one ", Redacted("[word] "), "three"]


def test_a_step_is_not_named_by_what_is_hidden() -> None:
    given = {"model": "gpt-5-mini", "seed": 7}
    assert Redactor(["model", "seed"]).call("gpt-5-mini", None, given, 7)[0] == "[redacted]"
    assert Redactor(["model", "seed"]).call("gpt-5-mini", None, given, 7)[3] == LEFT_OUT
    assert Redactor(["name"]).call("search", "b", {"name": "ada"}, None)[:2] == ("search", "b")
    assert Redactor([], [scrub]).call(f"for {SECRET}", SECRET, {}, None)[:2] == ("for [word]", "[word]")


def test_names_of_what_was_left_out_are_read_off_the_exact_column() -> None:
    def names(value: object) -> tuple[str, ...]:
        exact = codec.encode(value).exact
        return codec.redacted_names(exact and codec.parse(exact))

    assert names(by_name({"x": [1, {"password": 1}, ({"api_key": 2},)], "db_password": {}})) == (
        "password",
        "api_key",
        "db_password",
    )
    assert names(by_text([SECRET, "b"])) == ("",)
    assert names({"note": "[redacted]"}) == ()
    assert names(by_name(Login(user="ada", password=SECRET))) == ("password",)
