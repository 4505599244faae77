"""What the codec writes, what it refuses, and what stands in for that which cannot come back."""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from unittest.mock import MagicMock

import pydantic
import pytest

from stepwell.core import codec
from stepwell.core.codec import Opaque, Unavailable
from stepwell.errors import EncodingError
from tests.core import codec_values as made
from tests.core.codec_values import same, stored, through_jsonb

# -- what it costs --


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        10**40,
        [1, 1.5, -2.0, 1e-300, True, "ü"],
        {"role": "user", "content": "hi"},
        [{"id": 1, "name": "x", "score": 0.0}] * 3,
    ],
)
def test_what_jsonb_keeps_costs_nothing(value: object) -> None:
    assert codec.encode(value) == codec.Encoded(codec.dump(value), None, False)


def test_a_key_order_is_written_once_however_many_dicts_have_it() -> None:
    rows = [{"content": str(number), "role": "user"} for number in range(100)]
    assert codec.encode(rows).exact == '{"v":1,"o":[["content","role"]]}'


def test_only_the_dict_that_breaks_the_order_is_named() -> None:
    rows = [{"content": "", "role": ""}, {"role": "", "content": ""}, {"content": "", "role": ""}]
    exact = json.loads(codec.encode(rows).exact or "")
    assert exact == {
        "v": 1,
        "o": [["content", "role"]],
        "x": [["role", "content"]],
        "t": {"1": ["order", None, 0]},
    }


def test_a_large_dict_is_ordered_without_repeating_its_keys() -> None:
    rows = {f"customer-{number:04}": number for number in range(200, 0, -1)}
    exact = codec.encode(rows).exact or ""
    assert "customer" not in exact
    assert same(through_jsonb(rows), rows)


def test_equal_notes_about_neighbours_are_written_once() -> None:
    assert json.loads(codec.encode([(1,)] * 50 + [1.0, (2,)]).exact or "")["t"] == {
        "0-49": ["t"],
        "51": ["t"],
    }


def test_a_forbidden_character_is_shown_by_one_that_the_text_does_not_use() -> None:
    assert codec.encode("a\0b\0").plain == '"a\u2400b\u2400"'
    assert codec.encode("\u2400\0").plain == '"\u2400\ufffd"'


# -- refusals --


def test_a_value_that_contains_itself_is_refused_by_that_name() -> None:
    value: list[object] = []
    value.append({"me": value})
    with pytest.raises(EncodingError, match="contains itself"):
        codec.encode(value)


def test_an_object_that_contains_itself_is_refused() -> None:
    basket = made.Basket([])
    basket.items.append((basket,))
    with pytest.raises(EncodingError, match="contains itself"):
        codec.encode(basket)


def _nested(levels: int, wrap: Any) -> object:
    value: object = "core"
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"k": inner}, lambda inner: (inner,)])
@pytest.mark.parametrize("levels", [codec.MAX_DEPTH + 1, 900, 50_000])
def test_too_deep_nesting_is_refused(wrap: Any, levels: int) -> None:
    with pytest.raises(EncodingError, match="nested too deeply"):
        codec.encode(_nested(levels, wrap))
    with pytest.raises(EncodingError, match="nested too deeply"):
        codec.canonical(_nested(levels, wrap))


def test_nesting_of_hundreds_of_levels_comes_back() -> None:
    lists = _nested(400, lambda inner: [inner])
    tuples = _nested(200, lambda inner: (inner,))
    for value in (lists, tuples):
        encoded = codec.encode(value)
        copy = codec.decode(codec.parse(encoded.plain), codec.parse(encoded.exact or "null"))
        assert codec.dump(copy) == codec.dump(value)
        assert type(copy) is type(value)


def test_deep_nesting_within_keys_is_refused_and_no_crash() -> None:
    with pytest.raises(EncodingError, match="nested too deeply"):
        codec.encode({_nested(2000, lambda inner: (inner,)): 1})


def test_text_nested_beyond_reading_is_refused() -> None:
    with pytest.raises(EncodingError, match="nested too deeply"):
        codec.parse("[" * 100_000 + "]" * 100_000)


def test_a_value_of_a_newer_version_is_refused() -> None:
    with pytest.raises(EncodingError, match="newer version"):
        codec.decode({}, {"v": 2})


@pytest.mark.parametrize(
    "plain",
    [None, "text", [], {"a": 1}, {"content": "", "role": ""}, [{"role": 1}] * 3, [{"a": (1)}, {}, 2, []]],
)
def test_a_row_edited_by_hand_is_refused_or_decoded_but_always_shown(plain: Any) -> None:
    value = [{"content": "", "role": ""}, {"role": "", "content": ""}, (1,), {1: 2}]
    exact = json.loads(codec.encode(value).exact or "")
    codec.view(plain, exact)
    try:
        codec.decode(plain, exact)
    except EncodingError as error:
        assert "edited by hand" in str(error)  # noqa: PT017  # it may as well decode


class ChangesOther:
    def __init__(self, other: dict[str, object]) -> None:
        self.other = other

    def __repr__(self) -> str:
        self.other["late"] = 1
        return "changed it"


def test_a_value_that_changes_meanwhile_is_refused() -> None:
    value: dict[str, object] = {}
    value["spoiler"] = ChangesOther(value)
    with pytest.raises(EncodingError, match="changed while it was being recorded"):
        codec.encode(value)


# -- opaque objects --


class Client:
    def __repr__(self) -> str:
        return "<Client key='a\0\ud800'>"


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_an_unsupported_object_is_kept_as_its_whole_repr_and_flagged() -> None:
    encoded = codec.encode({"client": Client(), "n": 1})
    assert encoded.opaque
    stand_in = Opaque("tests.core.test_codec.Client", "<Client key='a\0\ud800'>")
    assert codec.decode(*stored(encoded)) == {"client": stand_in, "n": 1}
    assert codec.view(*stored(encoded)) == {"client": stand_in.repr, "n": 1}


def test_a_stand_in_is_encoded_as_what_it_stands_for() -> None:
    encoded = codec.encode([Client()])
    again = codec.encode(codec.decode(*stored(encoded)))
    assert again == encoded


@pytest.mark.parametrize("value", [Opaque("x\0.Y", "\0"), Opaque("", ""), Opaque("\ud800", "x")])
def test_any_opaque_comes_back(value: Opaque) -> None:
    assert through_jsonb(value) == value


def test_a_repr_that_raises_is_survived() -> None:
    assert through_jsonb(Broken()) == Opaque("tests.core.test_codec.Broken", "<repr raised RuntimeError>")


@pytest.mark.parametrize(
    "value", [object(), lambda: None, MagicMock(), (item for item in "ab"), memoryview(b"x"), range(3), 1j]
)
def test_what_is_not_supported_is_opaque(value: object) -> None:
    assert codec.encode(value).opaque
    assert isinstance(through_jsonb(value), Opaque)


def test_a_set_of_objects_that_become_equal_is_not_silently_smaller() -> None:
    class Twin:
        def __repr__(self) -> str:
            return "twin"

    copy = through_jsonb({Twin(), Twin()})
    assert isinstance(copy, Unavailable)
    assert "become equal" in copy.reason
    assert len(copy.fields) == 2  # type: ignore[arg-type]  # the list of its items


# -- classes that are not there --


def test_a_class_defined_in_a_function_comes_back_as_its_fields() -> None:
    @dataclass
    class Local:
        b: int
        a: tuple[int, ...]

    encoded = codec.encode(Local(1, (2,)))
    copy = codec.decode(*stored(encoded))
    assert encoded.opaque
    assert isinstance(copy, Unavailable)
    assert copy.type.endswith("<locals>.Local")
    assert same(copy.fields, {"b": 1, "a": (2,)})
    assert "defined inside a function" in copy.reason
    assert codec.encode(copy) == encoded
    assert codec.canonical(copy) == codec.canonical(Local(1, (2,)))


def _moved(value: object, old: str, new: str) -> object:
    """The decoded value, as if its class had been renamed since."""
    encoded = codec.encode(value)
    exact = json.loads((encoded.exact or "").replace(old, new))
    return codec.decode(codec.parse(encoded.plain), exact)


@pytest.mark.parametrize(
    ("value", "old", "new", "reason"),
    [
        (made.Order(1, 2), "tests.core", "tests.gone", "cannot import tests.gone"),
        (made.Order(1, 2), ":Order", ":Gone", "has no Gone"),
        (made.Order(1, 2), ":Order", ":Basket", "now has a field items"),
        (made.Order(1, 2), ":Order", ":Colour", "no longer a dataclass"),
        (made.Tool(name="x"), ":Tool", ":Order", "no longer a model"),
        (made.Point(1, 2), ":Point", ":Order", "no attribute '_fields'"),
        (made.Colour.RED, "RED", "BLUE", "BLUE"),
        (made.Label("x"), ":Label", ":Count", "no longer a str"),
        (ValueError("x"), ":ValueError", ":dict", "no longer an exception"),
        (made.Right.READ, ":Right", ":Colour", "no longer a flag"),
    ],
)
def test_a_class_that_has_gone_or_changed_is_named_with_the_reason(
    value: object, old: str, new: str, reason: str
) -> None:
    copy = _moved(value, old, new)
    assert isinstance(copy, Unavailable)
    assert reason in copy.reason


def test_each_stand_in_is_found_by_its_path() -> None:
    class Local(pydantic.BaseModel):
        client: Any

    value = {"tools": [1, (Local(client=2), Client())], "odd key": Client(), "fine": made.Order(1)}
    rebuilt = codec.rebuild(*stored(codec.encode(value)))
    assert {path: type(stand_in) for path, stand_in in rebuilt.stand_ins} == {
        "$.tools[1][0]": Unavailable,
        "$.tools[1][1]": Opaque,
        '$["odd key"]': Opaque,
    }


def test_a_view_imports_nothing() -> None:
    encoded = codec.encode([made.Order(1), made.Tool(name="a")])
    script = """if True:
        import json, sys
        from stepwell.core import codec
        print(codec.view(*map(json.loads, sys.argv[1:])))
        assert not any(name.startswith(("tests", "pydantic")) for name in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", script, encoded.plain, encoded.exact or ""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[{'total': 1, 'id': 0}, {'name': 'a', 'arguments': None}]\n"


# -- exceptions --


def test_an_exception_comes_back_without_its_initialiser() -> None:
    error = made.RefusedError(403, hint="ask")
    error.add_note("seen twice")
    copy = through_jsonb(error)
    assert type(copy) is made.RefusedError
    assert (copy.args, str(copy), copy.hint, copy.__notes__) == ((403,), "403", "ask", ["seen twice"])


def test_a_builtin_exception_comes_back_with_its_attributes() -> None:
    copy = through_jsonb(
        [OSError(2, "gone", "file"), ExceptionGroup("all", [KeyError("k")]), StopIteration(7)]
    )
    assert (type(copy[0]), copy[0].errno) == (FileNotFoundError, 2)
    assert isinstance(copy[1].exceptions[0], KeyError)
    assert copy[2].value == 7


def test_an_exception_is_plain_to_query() -> None:
    assert json.loads(codec.encode(ValueError("no", 1)).plain) == {
        "type": "ValueError",
        "message": "('no', 1)",
        "args": ["no", 1],
    }
