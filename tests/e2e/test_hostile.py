"""Whatever is recorded, named, typed or pasted: the terminal is sent letters, and the debugger's own sequences."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.conftest import create_database, drop_database
from tests.e2e.conftest import STEPWELL, backends
from tests.e2e.terminal import RawTerminal, wait_until
from tests.hostile import OWN, TEXTS, foreign, record, together

NAME = "\x1b]0;x\x07\x9b5n\u202e[/x]%s"
"""Short enough to be the name of a database, a role, and a folder of sockets."""
STEPS = 5
"""That `record` makes of each text."""
PASTED = "\x9b31m\u202e\x00\x07\x08\t%s[/x] {}\u200b\ud7ff\U000e0041e\u0301\u0301\u0301\u0301\u0301"

SEARCHED = "[/x]"
"""Stands in a text that looks like markup."""


@pytest.fixture
def place(server: str, schema_template: str, short_folder: Path) -> Iterator[Callable[[Sequence[str]], str]]:
    """Records texts in a database whose name, owner and host are hostile too, and returns its conninfo."""
    made: list[str] = []
    links: list[Path] = []

    def make(texts: Sequence[str]) -> str:
        plain = create_database(server, schema_template)
        record(plain, texts)
        old = str(conninfo_to_dict(plain)["dbname"])
        made.append(old + NAME)
        names = {"old": sql.Identifier(old), "new": sql.Identifier(old + NAME)}
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE ROLE {new} LOGIN SUPERUSER").format(**names))
            connection.execute(sql.SQL("ALTER DATABASE {old} RENAME TO {new}").format(**names))
        host = str(conninfo_to_dict(plain).get("host", ""))
        if host.startswith("/"):
            links.append(short_folder / f"{os.getpid()}{len(made)}{NAME}".replace("/", "|"))
            links[-1].symlink_to(host)
            host = str(links[-1])
        return make_conninfo(plain, dbname=made[-1], user=made[-1], host=host)

    yield make
    for link in links:
        link.unlink()
    for name in made:
        drop_database(server, make_conninfo(server, dbname=name))
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


class Walk:
    """Presses keys and waits for what they bring."""

    def __init__(self, terminal: RawTerminal) -> None:
        self.terminal = terminal

    def press(self, keys: str, *wanted: str) -> None:
        """Press keys; what is wanted has to be written after that."""
        terminal = self.terminal
        before = len(terminal.written)
        terminal.send(keys.encode("utf-8", "surrogatepass"))
        wait_until(
            lambda: all(text.encode() in terminal.read()[before:] for text in wanted),
            lambda: f"after {keys!r} not {wanted!r} but {terminal.written[before:][-2000:]!r}",
        )

    def paste(self, key: str, text: str, *wanted: str) -> None:
        """Press a key that asks for a line, paste one, and Enter."""
        self.press(f"{key}\x1b[200~{text}\x1b[201~\r", *wanted)


def walk(terminal: RawTerminal, steps: int) -> None:
    """Every screen, every pane in every way, at every step."""
    there = Walk(terminal)
    terminal.wait_for(b"newest first")
    there.press("jjjkfF:", ":")
    there.paste("", PASTED, "! ")
    there.paste("/", PASTED, "no run with")
    there.press("\x1b", "!failed")
    there.press("y", "copied")
    there.press("?", "list of runs")
    there.press("qg\r", f"1/{steps}")
    for key in ("M", "zx", "\tx", "\tx\t\tz"):
        there.press(f"{key}gn", f"2/{steps} ")
        for number in range(3, steps + 1):
            there.press("n", f"{number}/{steps} ")
    for key in ("bt", "bn", "be"):
        there.press("g" + key, "breakpoint ")
    there.press("ccCdZM", "/")
    there.press("B", "STOPS AT")
    there.paste("a", f"name:{PASTED}", "hits")
    there.press(" jd", "deleted")
    there.press(f"q/\x1b[200~{SEARCHED}\x1b[201~\r", "hit ")
    there.press(".", "hit ")
    there.paste("/", PASTED, "not found")
    there.paste(":", PASTED, "! ")
    there.paste(":break name:", PASTED, "0 hits")
    there.press("'\u202e", "no ")
    there.press("m\u009b", "a bookmark is a letter")
    there.press("\u202e", "no key")
    there.press("y", "copied")
    there.press("\tY", "characters")
    there.press("v", "[?1049l", "[?1049h")
    there.press("a?", "keys of the debugger")
    there.press("q\x0c", f"/{steps} ")
    there.press("q", "newest first")
    there.press("q")


def looked_at(raw: Callable[..., RawTerminal], dsn: str, texts: Sequence[str]) -> bytes:
    """Everything that is written on a walk through a database of these texts."""
    terminal = raw(*STEPWELL, "--dsn", dsn, size=(200, 40), PAGER="cat")
    walk(terminal, STEPS * len(texts))
    assert terminal.wait() == 0
    wait_until(lambda: not backends(dsn), "still connected")
    return terminal.written


def test_no_text_acts_upon_the_terminal_of_the_debugger(
    raw: Callable[..., RawTerminal], place: Callable[[Sequence[str]], str]
) -> None:
    texts = together(TEXTS.values(), 13)
    written = looked_at(raw, place(texts), texts)
    assert foreign(written) == []
    assert rb"\x1b]52;c;cm0gLXJm" in written, "nothing hostile was shown"
    assert rb"\x1b]0;x\x07\x9b5n\u202e[/x]%s" in written, "not in the title"


@pytest.mark.long
def test_one_by_one_the_texts_do_no_more_than_benign_ones(
    raw: Callable[..., RawTerminal], place: Callable[[Sequence[str]], str]
) -> None:
    """In every field and at its beginning; and none brings a kind of sequence that plain words do not."""
    words = [f"word{number} and {SEARCHED}" for number in range(2)]
    benign = looked_at(raw, place(words), words)
    kinds = {kind(sequence) for sequence in OWN.findall(benign)}
    assert kind(b"\x1b[31m") in kinds
    for part in (list(TEXTS.values())[:20], list(TEXTS.values())[20:]):
        texts = [*part, SEARCHED]
        written = looked_at(raw, place(texts), texts)
        assert foreign(written) == []
        assert {kind(sequence) for sequence in OWN.findall(written)} <= kinds


def kind(sequence: bytes) -> bytes:
    """A sequence without what varies: numbers of places and styles, what is copied."""
    return re.sub(rb"(?<=52;c;)[^\x07]*|[0-9;]+(?=[mH])", b"", sequence)
