"""Long texts cut into rows: nothing is lost, any row can be reached, and rows that were passed take no memory."""

import tracemalloc

import pytest

from stepwell.app.present import Blocks, Mode, cells, clean, document, line_cells, line_text, lines
from stepwell.app.present.documents import LONG

TEXTS = {
    "letters": "abcdefghij klmno" * 500,
    "escapes": '"a\\nb\\u2028 c"' * 500,
    "umlauts": "größer als müde " * 500,
    "wide": "日本語 text " * 500,
    "controls": "\x1b[2J\u202e\x07 plain " * 500,
    "one row": "abc",
    "nothing": "",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("width", [2, 47])
def test_rows_together_are_the_text_and_none_is_too_wide(text: str, width: int) -> None:
    blocks = Blocks(text, width)
    rows = list(lines(blocks))
    assert "".join(span.text for row in rows for span in row) == clean(text)
    assert all(line_cells(row) <= width for row in rows)
    assert (blocks.known_lines, blocks.complete) == (len(rows), True)


def test_rows_of_plain_letters_are_full() -> None:
    blocks = Blocks("x" * 100_001, 80)
    assert [line_cells(row) for row in lines(blocks)] == [80] * 1250 + [1]


@pytest.mark.parametrize("name", ["letters", "umlauts", "wide", "controls"])
def test_a_character_is_in_the_row_that_is_told(name: str) -> None:
    text = TEXTS[name][:4_000] + "NEEDLE" + TEXTS[name]
    blocks = Blocks(text, 50)
    at = text.index("NEEDLE")
    assert blocks.row_of(at) is None
    while (row := blocks.row_of(at)) is None:
        blocks.advance(1)
    assert "N" in line_text(blocks.line(row))
    assert "NEEDLE" in line_text(blocks.line(row)) + line_text(blocks.line(row + 1))


def test_at_least_as_many_lines_are_laid_out_as_were_asked_for() -> None:
    for text, lines_there in ((TEXTS["letters"] * 30, True), (TEXTS["wide"] * 3, True), ("abc", False)):
        blocks = Blocks(text, 20)
        assert blocks.advance(100) is lines_there
        assert (blocks.known_lines >= 100) is lines_there
        with pytest.raises(IndexError):
            blocks.line(1_000_000)


def test_a_long_text_that_is_stored_is_laid_out_so_and_keeps_no_rows() -> None:
    text = '"' + "0123456789 " * (10 * LONG // 11) + 'END"'
    shown = document(text, None, 70, Mode.RAW)
    assert isinstance(shown, Blocks)
    tracemalloc.start()
    while shown.advance(1000):
        pass
    last = line_text(shown.line(shown.known_lines - 1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert last.endswith('END"')
    assert peak < 500_000
    assert cells(last) <= 70
