"""Text that attacks terminals, parsers and layouts; a database full of it; and what may be written of it."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

import stepwell
from stepwell.core.recording import storable

TEXTS = {
    "clears": "\x1b[2J\x1b[H\x1b[31mred",
    "copies": "\x1b]52;c;cm0gLXJm\x07",
    "links": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "titles": "\x1b]0;owned\x07\x1b]2;owned\x1b\\",
    "asks": "\x1b[6n\x1b[c\x1b[21t\x1b]4;1;?\x07\x05",
    "device control": "\x1bP$q\"p\x1b\\\x1bPtmux;\x1b\x1b[31m\x1b\\\x1bkname\x1b\\",
    "sixel and others": "\x1bPq#0;2;0;0;0#0~~\x1b\\\x1b_Gf=100;AAAA\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\",
    "modes": "\x1b[?1049l\x1b[?1003h\x1b[?2004h\x1b[?25l\x1bc\x1b#8\x1b(0qqq",
    "C1": "\x9b31m\x9d0;owned\x9c\x90x\x9c\x84\x85\x8d",
    "C0": "".join(map(chr, range(1, 32))),
    "NUL and DEL": "a\x00b\x7f",
    "bell and backspace": "p\x08pa\x08as\x08ss\x08s\x07",
    "carriage return": "all is well\r\x1b[Kowned\r\n",
    "tabs": "\ta\t\tb\x0b\x0c",
    "bidi": "a\u202etxt.exe\u202c \u2066x\u2069 \u2067y\u2068z\u200e\u200f\u061c",
    "zero width": "a\u200bb\u200cc\u200dd\ufeffe\u2060f\u00adg\u180eh",
    "zalgo": "z" + "\u0301\u0336\u0489" * 40,
    "variation selectors": "\u2764\ufe0f \u2764\ufe0e \U000e0100x \u8fbb\U000e0101",
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3ff",
    "flags": "\U0001f3f4\U000e0067\U000e007f \U0001f1e9\U0001f1ea",
    "wide": "漢字かな交じり文" * 12,
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 1234",
    "surrogates": "a\ud800b\udc9b31m\udfff",
    "noncharacters": "\ufdd0\ufffe\uffff\U0001ffff\U0010ffff\ue000\U000f0000\u0378",
    "tags": "\U000e0001\U000e0041\U000e0042\U000e007f",
    "separators": "a\u2028b\u2029c\x85d\x1cd\x1dd",
    "fillers": "\u3164\u115f\u1160\uffa0\u2800\u00a0\u3000",
    "newlines": "one\ntwo\r\nthree\n\n",
    "Textual markup": "[bold]int[] [/x] [/] [@click=app.quit]go[/] \\[ [red",
    "rich markup": "[link=http://evil.example]x[/link] [reverse]y[/reverse] :skull:",
    "formats": "{} {0} {name!r} %s %n %(x)d %% ${HOME} $(id) `id`",
    "very long": "x" * 5000,
    "looks like a path": "../../etc/passwd ~/.ssh/id_rsa $.input[0]['a.b'] /dev/tty C:\\con",
    "HTML": "<script>alert(1)</script> &amp; &lt; &#27; &nosuch; ]]> <![CDATA[ <!-- --> \"'><svg/onload=x>",
    "CSV": "=cmd|' /C calc'!A0,\"a\"\"b\",+1,-1,@SUM(1)",
    "JSON": "\\u0000 \\ud800 \\x1b \" \\ {\"$patch\": [], \"__proto__\": 1}",
    "shell": "; rm -rf / | cat && echo 'x' \"y\" > /tmp/z * ? ! # \\",
    "leads with a dash": "--dsn=evil -v --",
    "SQL": "'; DROP TABLE agent_steps; -- $$ E'\\x00' %_\\",
    "addresses": "@failed 7f3a:17:$.output :50% @11:42",
    "blank": " \t ",
}  # fmt: skip
"""Each by what it tries."""

OWN = re.compile(
    rb"\x1b\[[0-9;]*[mH]"  # how and where to write
    rb"|\x1b\[\?(?:7|25|1004|1049|2004|2026|2048)[hl]"  # modes of the terminal
    rb"|\x1b\[\?(?:2026|2048)\$p"  # whether it has these
    rb"|\x1b\[(?:>[0-9]+|<)u"  # which keys are told apart
    rb"|\x1b\]22;[a-z]+\x07"  # the shape of the mouse pointer
    rb"|\x1b\]52;c;[A-Za-z0-9+/=]*\x07"  # a copy
    rb"|\r\n"
)
"""All that the debugger writes beside text. No text can spell any of it without an ESC that is its own."""
ACTING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that act upon a terminal, or that no two terminals show alike."""


def foreign(written: bytes) -> list[str]:
    """What a terminal was sent that is neither the debugger's own nor letters to show."""
    text = OWN.sub(b"", written).decode()
    found = [char for char in text if unicodedata.category(char) in ACTING]
    return found + [name for name, payload in TEXTS.items() if _acts(payload) and payload in text]


def _acts(payload: str) -> bool:
    return any(unicodedata.category(char) in ACTING for char in payload)


def together(texts: Iterable[str], length: int = 8) -> list[str]:
    """The texts in few longer ones."""
    all_ = list(texts)
    return ["".join(all_[start : start + length]) for start in range(0, len(all_), length)]


def error(text: str) -> Exception:
    """An exception whose class and message are the text."""
    kind: type[Exception] = type(storable(text), (Exception,), {"__module__": storable(text)})
    return kind(text)


def record(dsn: str, texts: Sequence[str]) -> UUID:
    """A run with five steps for each text, which stands in every field, and a failed run for each; the former."""

    def answer(**given: object) -> object:
        text = given["text"]
        message = {
            "role": text,
            "content": text,
            "tool_calls": [{"function": {"name": text, "arguments": text}}],
        }
        return {"choices": [{"message": message, "finish_reason": text}], text: [text, {text: text}]}

    with stepwell.Recorder(dsn) as recorder:
        for text in texts:
            name = storable(text)
            with _silenced(text), recorder.run(name, tags={name: name}) as run:
                run.named(name, agent=name).tool(answer, text=text)
                raise error(text)
        with recorder.run(storable("".join(texts)), tags={storable(text): 1 for text in texts}) as run:
            for number, text in enumerate(texts):
                own = run.named(storable(text), agent=storable(text) if number % 2 else "b")
                messages = [
                    {"role": text, "content": text},
                    {"role": "user", "content": [{"type": text, "text": text}]},
                ]
                own.llm(answer, text=text, messages=messages, model=text)
                own.tool(answer, text=text, **{text: text})
                own.state({text: {text: text}, "list": [text]})
                with _silenced(text), own.step("tool_call", storable(text), {text: text}):
                    raise error(text)
                with run.step(storable(text), storable(text), text) as step:
                    step.output = text
    by_hand(dsn, texts[0])
    return run.run_id


class _silenced:  # noqa: N801 - reads like contextlib's own
    """Lets the exception of `error(text)` end here."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, raised: BaseException | None, __: object) -> bool:
        return raised is not None and raised.args == (self._text,)


def by_hand(dsn: str, text: str) -> None:
    """What an importer or a hand can fill and a recorder does not: source, status, columns of a step."""
    with psycopg.connect(dsn) as connection:
        text = storable(text)
        connection.execute("UPDATE agent_runs SET source = %s WHERE finished > 5", [text])
        connection.execute(
            "INSERT INTO agent_steps (run_id, step_number, step_type, input, output)"
            " VALUES (gen_random_uuid(), 1, %s, %s, %s)",
            [text, Jsonb({text: text}), Jsonb(text)],
        )
