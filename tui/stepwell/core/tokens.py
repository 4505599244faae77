"""SQL cut into tokens by the lexical rules of Postgres, with `standard_conforming_strings` on.

Only what tells words, quotes and brackets from each other: the server's own parser judges the rest.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

# Postgres knows no other white space: a no-break space is a letter to it. \v is none before Postgres 16, where it is an
# error.
_SPACE = re.compile(r"[ \t\n\r\f\v]+|--[^\n\r]*")
# A name begins with a letter, `_` or whatever is beyond ASCII; said by what it does not begin with, for `re` takes
# milliseconds to compile what reaches to the last character.
_WORD = re.compile(r"[^\x00-@\[-^`{-\x7f][^\x00-#%-/:-@\[-^`{-\x7f]*")
_DOLLAR = re.compile(r"\$(?:[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*)?\$")
_QUOTE = re.compile(r"[eE]'|[uU]&'|[bBxXnN]?'")
_NAME = re.compile(r'(?:[uU]&)?"')
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_PLAIN = re.compile(r"(?:[^']++|'')*+'")
_ESCAPED = re.compile(r"(?:[^'\\]++|''|\\.)*+'", re.DOTALL)
_NAMED = re.compile(r'(?:[^"]++|"")*+"')
# A string goes on after a line's end, by the rules of its first part.
_CONTINUED = re.compile(r"(?:[ \t\f\v]++|--[^\n\r]*+)*+[\n\r](?:[ \t\n\r\f\v]++|--[^\n\r]*+[\n\r])*+'")


class Kind(StrEnum):
    WORD = "word"
    """A key word or an identifier without quotes: `value` is in small letters."""
    NAME = "name"
    """An identifier in quotes: `value` is what they hold."""
    STRING = "string"
    OTHER = "other"
    """One character of anything else."""
    OPEN = "open"
    """A quote or a comment that does not end."""


class Token(NamedTuple):
    """`start` and `end` are places in the text, from 0."""

    kind: Kind
    value: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Every token, without white space and comments. One of kind OPEN is the last.

    UESCAPE with its sign is none, unless that is written as an escape itself, as E'\\x21': then a name is not known.
    """
    found = list(_tokens(text))
    result: list[Token] = []
    while len(result) < len(found):
        token = found[len(result)]
        if token.kind in (Kind.NAME, Kind.STRING) and text[token.start : token.start + 2] in ("U&", "u&"):
            sign = "\\"
            after = found[len(result) + 1 : len(result) + 3]
            if is_uescape(after) and len(after[1].value) == 1:
                del found[len(result) + 1 : len(result) + 3]
                sign, token = after[1].value, token._replace(end=after[1].end)
            token = token._replace(value=_unescaped(token.value, sign))
        result.append(token)
    return result


def statements(found: Sequence[Token]) -> Iterator[list[Token]]:
    """Without those that are empty. A body in BEGIN ATOMIC counts as several."""
    statement: list[Token] = []
    for token in found:
        if token[:2] == (Kind.OTHER, ";"):
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


def is_uescape(found: Sequence[Token]) -> bool:
    """Whether these begin with UESCAPE and a string."""
    return len(found) > 1 and found[0][:2] == (Kind.WORD, "uescape") and found[1].kind is Kind.STRING


def name_at(text: str, position: int) -> str | None:
    """The name that begins at a place, counted from 1; None where there is none, or it is that of a schema."""
    found = tokens(text)
    for token, after in zip(found, [*found[1:], None], strict=True):
        if token.start == position - 1 and token.kind in (Kind.WORD, Kind.NAME):
            return None if after is not None and after.value == "." else token.value
    return None


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
        elif text.startswith("/*", at):
            end = _comment_end(text, at)
            if end is None:
                yield Token(Kind.OPEN, "/*", at, len(text))
                return
            at = end
        else:
            token = _token(text, at)
            yield token
            at = token.end


def _comment_end(text: str, at: int) -> int | None:
    """Comments nest. None where the outermost does not end."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return None


def _token(text: str, at: int) -> Token:
    if quote := _QUOTE.match(text, at):
        return _string(text, at, quote)
    if quote := _NAME.match(text, at):
        if found := _NAMED.match(text, quote.end()):
            return Token(Kind.NAME, found[0][:-1].replace('""', '"'), at, found.end())
        return Token(Kind.OPEN, '"', at, len(text))
    if word := _WORD.match(text, at):
        return Token(Kind.WORD, _small(word[0]), at, word.end())
    if dollar := _DOLLAR.match(text, at):
        end = text.find(dollar[0], dollar.end())
        if end < 0:
            return Token(Kind.OPEN, dollar[0], at, len(text))
        return Token(Kind.STRING, text[dollar.end() : end], at, end + len(dollar[0]))
    return Token(Kind.OTHER, text[at], at, at + 1)


def _string(text: str, at: int, quote: re.Match[str]) -> Token:
    body = _ESCAPED if quote[0] in ("e'", "E'") else _PLAIN
    end, parts = quote.end(), []
    while found := body.match(text, end):
        parts.append(found[0][:-1])
        end = found.end()
        more = _CONTINUED.match(text, end)
        if more is None:
            return Token(Kind.STRING, "".join(parts).replace("''", "'"), at, end)
        end = more.end()
    return Token(Kind.OPEN, "'", at, len(text))


def _small(word: str) -> str:
    """As Postgres folds it: A to Z alone. But a Turkish database of one byte a letter makes a dotted I an i."""
    return "".join(letter.lower() if letter < "\x80" else letter for letter in word).replace("İ", "i")


def _unescaped(name: str, escape: str) -> str:
    """What a name stands for that is written as U&"d\\0061ta"."""
    sign = re.escape(escape)
    return re.sub(rf"{sign}(?:({sign})|([0-9A-Fa-f]{{4}})|\+([0-9A-Fa-f]{{6}}))", _letter, name)


def _letter(found: re.Match[str]) -> str:
    number = int(found[2] or found[3] or "0", 16)
    return found[1] or (chr(number) if number <= 0x10FFFF else "\ufffd")
