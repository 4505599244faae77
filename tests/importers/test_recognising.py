"""What a file is, told by its content, and one clear line for a file that is nothing that can be imported."""

import gzip
import json
from decimal import Decimal

import pytest

from stepwell.errors import InvalidFileError
from stepwell.importers import read, recognise
from stepwell.importers.document import parse
from tests.importers.files import file, text, trajectory, turn

CHAT = [text("user", "hi"), text("assistant", "hello")]


def problem(data: bytes) -> str:
    with pytest.raises(InvalidFileError) as caught:
        read(data, "x.json")
    return str(caught.value)


def test_the_content_decides_and_the_name_does_not() -> None:
    assert recognise(file(CHAT), "a.traj").name == "chat-completions"
    assert recognise(file(trajectory(turn("ls\n", "a"))), "b.json").name == "swe-agent"


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ({"spans": [], "version": 1}, "an object with the keys spans, version"),
        ([{"id": 1}], "objects with the keys id"),
        ([[1]], "a list"),
        ("messages", "a string"),
        (None, "null"),
        (1.5, "a number"),
        ({}, "an object without keys"),
        ({"\x1b]52;c;AAAA\x07": 1}, r"an object with the keys \x1b]52;c;AAAA\x07"),
    ],
)
def test_unknown_content_is_named(value: object, holds: str) -> None:
    known = "exported recording, spooled run, SWE-agent trajectory, chat-completions messages"
    assert problem(file(value)) == f"x.json: not a recording that Stepwell knows ({known}): it holds {holds}"


def test_a_list_of_objects_whose_messages_are_of_another_kind_is_unknown() -> None:
    assert "not a recording that Stepwell knows" in problem(file([{"messages": [{"source": "user"}]}]))


@pytest.mark.parametrize("data", [b"", b" \n\t", b"\xef\xbb\xbf"])
def test_an_empty_file_is_called_empty(data: bytes) -> None:
    assert problem(data) == "x.json: the file is empty"


def test_a_byte_order_mark_does_no_harm() -> None:
    assert len(read(b"\xef\xbb\xbf" + file(CHAT), "x.json").runs) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_are_named_with_the_way_to_convert_them(encoding: str) -> None:
    assert problem(json.dumps(CHAT).encode(encoding)).endswith("iconv -f UTF-16 -t UTF-8 FILE")


def test_bytes_that_are_no_utf8_are_named_with_their_line() -> None:
    assert problem(b'[\n"\xe9"]') == "x.json: line 2: not UTF-8 text (byte 3: 0xe9)"


def test_compressed_files_are_named_with_the_way_to_unpack_them() -> None:
    assert "gunzip" in problem(gzip.compress(file(CHAT)))
    assert "unzip" in problem(b"PK\x03\x04....")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"role": "user",}]', "x.json: line 1, column 18: not JSON:"),
        (b'{\n  "messages": [\n    {"role" "user"}\n  ]\n}', "x.json: line 3, column 13: not JSON:"),
        (b'[{"role": "user", "content": "cut o', "x.json: line 1, column 30: not JSON:"),
        (b'{"a": 1}\n{"a": 2}\n{"a": \n', "x.json: line 3, column 7: not JSON:"),
        (b"hello", "x.json: line 1, column 1: not JSON:"),
    ],
)
def test_broken_json_is_said_with_line_and_column(data: bytes, message: str) -> None:
    assert problem(data).startswith(message)


def test_a_key_that_is_there_twice_is_said_with_its_path() -> None:
    assert problem(b'{"messages": [{"role": "user", "content": "a", "role": "tool"}]}') == (
        'x.json: $.messages[0]: the key "role" is there twice'
    )


@pytest.mark.parametrize("depth", [250, 900, 100_000])
def test_an_abyss_of_brackets_is_refused(depth: int) -> None:
    data = b'[{"role": "user", "content": ' + b"[" * depth + b"]" * depth + b"}]"
    assert "nested" in problem(data)


def test_a_number_of_too_many_digits_is_refused() -> None:
    assert "not a number that can be read" in problem(b'{"messages": [' + b"9" * 5000 + b"]}")


def test_numbers_keep_all_their_digits() -> None:
    assert parse("[1.5, 1e400, 0.1000000000000000055511151231257827, 12345678901234567890]") == [
        1.5,
        Decimal("1e400"),
        Decimal("0.1000000000000000055511151231257827"),
        12345678901234567890,
    ]


def test_a_name_full_of_escapes_cannot_reach_the_terminal() -> None:
    with pytest.raises(InvalidFileError) as caught:
        read(b"", "\x1b[2Jx\n\u202e.json")
    assert str(caught.value) == "\\x1b[2Jx\\n\\u202e.json: the file is empty"


def test_separators_of_unicode_inside_strings_do_not_end_a_line() -> None:
    data = json.dumps([text("assistant", "a\u2028b\x85c")], ensure_ascii=False).encode()
    assert len(read(data + b"\n" + data, "x.jsonl").runs) == 2
