"""Recorded text cannot act upon the terminal, and takes exactly the cells that it is given."""

import unicodedata
from codecs import register_error
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from stepwell.app.present import (
    age,
    cells,
    clean,
    clean_line,
    clean_lines,
    clock,
    count,
    duration,
    fit,
    size,
    wrap,
)
from stepwell.app.present.spans import Role, Span, line_cells, line_text, style, wrap_line
from stepwell.app.present.text import CHUNK, in_as_many_cells, wrap_range
from tests.hostile import TEXTS, foreign

HOSTILE = {
    "clear screen": ("\x1b[2J", r"\x1b[2J"),
    "OSC 52": ("\x1b]52;c;cm0gLXJm\x07", r"\x1b]52;c;cm0gLXJm\x07"),
    "C1 CSI": ("\x9b31m", r"\x9b31m"),
    "carriage return": ("safe\rowned", r"safe\rowned"),
    "newline": ("a\nb", r"a\nb"),
    "NUL and DEL": ("\0\x7f", r"\x00\x7f"),
    "backspace": ("a\bb", r"a\x08b"),
    "tab": ("a\tb", "a    b"),
    "right-to-left override": ("a\u202eb", r"a\u202eb"),
    "isolates": ("\u2066a\u2069", r"\u2066a\u2069"),
    "marks": ("\u200e\u200f\u061c", r"\u200e\u200f\u061c"),
    "zero width": ("a\u200bb\u200dc\ufeffd\u2060", r"a\u200bb\u200dc\ufeffd\u2060"),
    "separators": ("a\u2028b\u2029c\x85d", r"a\u2028b\u2029c\x85d"),
    "soft hyphen and odd space": ("a\xadb\xa0c", r"a\xadb\xa0c"),
    "tags": ("\U000e0041\U000e007f", r"\U000e0041\U000e007f"),
    "variation selectors": ("\u26a0\ufe0f\U000e0100", "\u26a0" + r"\ufe0f\U000e0100"),
    "lone surrogate": ("\ud800x", r"\ud800x"),
    "private and unassigned": ("\ue000\U0010ffff\u0378", r"\ue000\U0010ffff\u0378"),
    "mark at the start": ("\u0301a", r"\u0301a"),
    "mark after an escape": ("\x1b\u0301", r"\x1b\u0301"),
    "zalgo": ("a" + "\u0301" * 5, "a" + "\u0301" * 3 + r"\u0301\u0301"),
    "flags and skin": ("\U0001f1e9\U0001f3ff", r"\U0001f1e9\U0001f3ff"),
    "filler": ("\u3164\u115f", r"\u3164\u115f"),
    "markup": ("[bold]x[/] [", "[bold]x[/] ["),
    "letters": (
        "naïve 漢字\u3000\u05e9\u05dc \u0645\u0631 ✅",
        "naïve 漢字\u3000\u05e9\u05dc \u0645\u0631 ✅",
    ),
    "accent on its letter": ("e\u0301", "e\u0301"),
}
BIDI = {"\u061c", "\u200e", "\u200f", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
ANY_TEXT = st.text(st.characters())


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_spelled_out(kind: str) -> None:
    recorded, expected = HOSTILE[kind]
    assert clean(recorded) == expected


@pytest.mark.parametrize("kind", TEXTS)
def test_what_is_made_to_attack_is_letters_in_as_many_cells_as_are_counted(kind: str) -> None:
    shown = clean(TEXTS[kind])
    assert foreign(shown.encode()) == []
    assert cells(shown) == sum(map(cell_len, shown))
    assert [cells(fit(shown, width)) for width in range(12)] == list(range(12))


def test_what_a_language_lacks_takes_as_many_cells_as_it_would() -> None:
    register_error("tests.cells", in_as_many_cells)
    assert fit("naïve 漢字", 9).encode("ascii", "tests.cells") == b"na?ve ??."
    assert "漢ï…".encode("latin-1", "tests.cells") == b"??\xef."


@given(ANY_TEXT)
def test_nothing_that_acts_upon_a_terminal_gets_through(text: str) -> None:
    shown = clean(text)
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F for char in shown)
    assert not BIDI & set(shown)
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for char in shown)
    shown.encode()


@given(ANY_TEXT)
def test_a_cleaned_text_is_as_wide_as_its_characters_and_clean(text: str) -> None:
    shown = clean(text)
    assert cells(shown) == sum(map(cell_len, shown)) == cell_len(shown)
    assert clean(shown) == shown


@given(ANY_TEXT, st.integers(0, 40), st.sampled_from(["…", "", "..", "漢"]))
def test_fitted_text_takes_exactly_its_cells(text: str, width: int, ellipsis: str) -> None:
    assert cells(fit(clean(text), width, ellipsis)) == width


def test_fit_pads_cuts_and_never_halves_a_wide_character() -> None:
    assert fit("lamp", 6) == "lamp  "
    assert fit("search_orders", 8) == "search_…"
    assert fit("漢字漢字", 6) == "漢字… "
    assert fit("漢字", 1, "") == " "


@given(ANY_TEXT, st.integers(2, 40), st.none() | st.integers(2, 40))
def test_wrapped_pieces_fit_and_join_to_the_original(text: str, width: int, first: int | None) -> None:
    shown = clean(text)
    pieces = list(wrap(shown, width, first))
    assert "".join(pieces) == shown
    for index, piece in enumerate(pieces):
        room = first if index == 0 and first else width
        assert cells(piece.removesuffix(" ")) <= room


@given(st.text("ab é漢\t\n\u0301\x1b", max_size=400), st.integers(2, 40))
def test_wrapping_little_by_little_gives_the_same_text(text: str, width: int) -> None:
    whole = text * (2 * CHUNK // max(1, len(text)) + 1)
    pieces = list(wrap_range(whole, 0, len(whole), width))
    expected = "".join(clean(whole[start : start + CHUNK]) for start in range(0, len(whole), CHUNK))
    assert "".join(pieces) == expected


def test_text_wraps_at_spaces_and_long_words_anywhere() -> None:
    assert list(wrap("a lamp and a desk", 6)) == ["a lamp ", "and a ", "desk"]
    assert list(wrap("abcdefgh", 3)) == ["abc", "def", "gh"]
    assert list(wrap("", 3)) == [""]


@given(st.lists(st.text("ab漢é ")), st.integers(2, 20))
def test_a_wrapped_line_keeps_its_spans(texts: list[str], width: int) -> None:
    line = tuple(Span(text, Role.KEY) for text in texts)
    pieces = list(wrap_line(line, width))
    assert "".join(span.text for piece in pieces for span in piece) == "".join(texts)
    assert all(line_cells(piece) <= width for piece in pieces)


def test_lines_are_split_at_newlines_only() -> None:
    assert list(clean_lines("a\r\nb\x0bc\u2028d\n")) == [r"a\r", r"b\x0bc\u2028d", ""]
    assert line_text((Span("a "), Span(" "))) == "a"


def test_a_line_of_a_huge_text_costs_what_is_shown() -> None:
    class Refusing(str):
        def isascii(self) -> bool:
            raise AssertionError("the whole text was looked at")

    assert clean_line(Refusing("x" * 100), 5) == "xxxx…"
    assert clean_line("short", 10) == "short"
    assert clean_line("two\nlines") == r"two\nlines"


def test_without_colours_a_role_keeps_what_is_not_colour() -> None:
    for role in Role:
        assert style(role, colours=False).color is None
        assert style(role, colours=False).bold == style(role).bold
        assert style(role, colours=False).reverse == style(role).reverse


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, ".00"), (0.04, ".04"), (0.31, ".31"), (0.999, "1.0"), (1.8, "1.8"), (9.96, "10s"), (22, "22s"),
     (59.6, "1m00"), (91, "1m31"), (242, "4m02"), (7500, "2h05"), (273_600, "3d04"), (-1.5, "-1.5")],
)  # fmt: skip
def test_durations(seconds: float, expected: str) -> None:
    assert duration(timedelta(seconds=seconds)) == expected


def test_a_duration_that_is_not_known_is_empty() -> None:
    assert duration(None) == ""


@pytest.mark.parametrize(
    ("ago", "expected"),
    [(timedelta(seconds=59), "now"), (timedelta(minutes=3), "3 min"), (timedelta(hours=1, minutes=5), "1 h"),
     (timedelta(hours=49), "2 d"), (timedelta(seconds=-90), "now")],
)  # fmt: skip
def test_ages(ago: timedelta, expected: str) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert age(now - ago, now) == expected
    assert age(None, now) == ""


def test_sizes_counts_and_clocks() -> None:
    assert [size(n) for n in (0, 999, 12_400, 999_960, 10_000_000)] == [
        "0 B",
        "999 B",
        "12.4 KB",
        "1.0 MB",
        "10.0 MB",
    ]
    assert count(1_204_331) == "1,204,331"
    assert clock(datetime(2026, 1, 2, 13, 42, 7, tzinfo=timezone(timedelta(hours=2)))) == "11:42:07Z"
    assert clock(datetime(2026, 1, 2, 11, 42, 7)) == "11:42:07Z"
    assert clock(None) == ""
