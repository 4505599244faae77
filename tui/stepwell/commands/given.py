"""A text that a command is given as a word, in a file, or on its input."""

import argparse
import sys
from pathlib import Path
from typing import Any

from stepwell.errors import UsageError


def add_text(parser: argparse.ArgumentParser, name: str, metavar: str, words: str) -> None:
    """The word, and `-f` in its place. `words` is what the help says of it."""
    word = parser.add_argument(name, metavar=metavar, help=f"{words}; - reads it from the input")
    parser.add_argument(
        "-f", "--file", metavar="FILE", action=_File, instead=word, help="a file with it; - is the input"
    )


class _File(argparse.Action):
    """With a file no word is needed. One that may be left out anyway could not stand behind an option."""

    def __init__(self, instead: argparse.Action, **options: Any) -> None:
        super().__init__(**options)
        self._instead = instead

    def __call__(self, _parser: object, namespace: argparse.Namespace, values: object, *_: object) -> None:
        self._instead.required = False
        setattr(namespace, self.dest, values)


def text_of(word: str | None, file: str | None, what: str) -> str:
    """The text, `what` in words. Raises UsageError for two and for what is no UTF-8, OSError for no such file."""
    if file is not None and word is not None:
        raise UsageError(f"one {what}: either as a word or with -f")
    try:
        if "-" in (word, file):
            return sys.stdin.read()
        return str(word) if file is None else Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{file or 'the input'} is no text in UTF-8") from None
