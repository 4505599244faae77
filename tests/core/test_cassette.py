"""A recorded run as a file: what is read back is what was written, and the text is for people."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core import codec
from stepwell.core.cassette import pack, recognises, unpack
from stepwell.core.lines import fold, lay_out
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.steps import Loop, Payload, RunHead, Stored
from stepwell.core.whole import payload
from stepwell.errors import InvalidFileError
from tests.core.codec_values import json_shaped, jsonb, same, text, values

RUN = UUID("7f3a0000-0000-4000-8000-000000000001")
NOON = datetime(2026, 3, 1, 12, 0, 0, 123, tzinfo=UTC)


def row(number: int, value: object, output: object, through: Any = jsonb) -> Payload:
    """A payload as it is read from a database."""
    given, gave = codec.encode(value), codec.encode(output)
    exact = [None if text is None else through(text) for text in (given.exact, gave.exact)]
    return Payload(number, through(given.plain), through(gave.plain), exact[0], exact[1])


def run_of(*steps: RecordedStep, **fields: Any) -> RecordedRun:
    head = RunHead(RUN, "ok", "refund", {"tenant": "ü"}, len(steps), started=NOON, finished=NOON)
    return RecordedRun(head, steps, **fields)


def tool(number: int, given: object, gave: object, **fields: Any) -> RecordedStep:
    in_turn = {"finished_order": number, "finished_before": number - 1, "started_before": number}
    made = {"started": NOON, "finished": NOON, "lane": 1, **in_turn, **fields}
    return replace(RecordedStep(number, "tool_call", "search", None, None, row(number, given, gave)), **made)


def back(run: RecordedRun, **how: Any) -> RecordedRun:
    return unpack(pack(run, **how), "x.json")


def value_of(plain: str | None, exact: str | None) -> object:
    assert plain is not None
    return codec.decode(codec.parse(plain), None if exact is None else codec.parse(exact))


@given(values, values)
@pytest.mark.parametrize("through", [jsonb, str])
def test_every_value_comes_back_as_it_was(through: Any, given: object, gave: object) -> None:
    step = replace(tool(1, 0, 0), payload=row(1, given, gave, through))
    found = back(run_of(step)).steps[0].payload
    assert same(value_of(found.input, found.input_exact), given)
    assert same(value_of(found.output, found.output_exact), gave)


@given(json_shaped)
def test_a_layout_says_what_was_laid_out(value: object) -> None:
    plain = codec.parse(jsonb(codec.encode(value).plain))
    assert codec.parse(lay_out(plain), fold) == plain


@given(st.lists(text, max_size=3), st.sampled_from(["$lines", "$$lines", "$$$lines", "lines"]))
def test_what_looks_like_the_lines_of_a_text_is_told_from_one(lines: list[str], key: str) -> None:
    for value in ({key: lines}, "\n".join(lines), {key: {key: "\n".join(lines)}}, [{key: None}]):
        masked = codec.parse(codec.encode(value).plain)
        assert codec.parse(lay_out(masked), fold) == masked


def test_everything_else_of_a_run_comes_back_too() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    parallel = {"finished_order": 3, "finished_before": 0, "started_before": 3}
    steps = (
        tool(
            1, {}, None, agent="b", form="awaitable", drawn=("00ff",), random_after='{"index":3}', **parallel
        ),
        tool(2, {}, 1, parent=1, seed=2**62, tokens_in=0, tokens_out=5, finish_reason="stop"),
        RecordedStep(4, "llm_call", None, None, None, Payload(4, '{"a":1}', error='{"type":"E"}'), elsewhere),
        RecordedStep(5, "tool_call", "pay", "b", None, Payload(5, "null"), NOON, finished_before=3, lane=2),
    )
    head = RunHead(
        RUN,
        "failed",
        "refund",
        {"tenant": ["a", 1.5]},
        4,
        unfinished=1,
        unfinished_name="pay",
        unfinished_number=5,
        unfinished_started=NOON,
        agents=("b",),
        started=elsewhere,
        finished=NOON,
        error="E: two\nlines",
        loop=Loop("search", 1, 4, 2, 3),
        source="chat-completions",
    )
    run = RecordedRun(head, steps, "null", None, '{"index":0}', ("11", "22"), -5, "Asia/Tokyo")
    assert back(run) == run
    assert back(run, compressed=True) == run
    assert back(RecordedRun(RunHead(RUN, "died"), ())) == RecordedRun(RunHead(RUN, "died"), ())


def test_numbers_of_random_that_are_those_of_the_step_before_are_not_repeated() -> None:
    states = [
        f'{{"gauss":null,"index":{at},"numbers":"{text}"}}'
        for at, text in enumerate(["AA", "AA", "BB", "AA"])
    ]
    steps = [tool(number, {}, 1, random_after=state) for number, state in enumerate(states[1:], 1)]
    run = run_of(*steps, random=states[0])
    made = pack(run).decode()
    assert (made.count('"AA"'), made.count('"BB"'), made.count('"as before"')) == (2, 1, 1)
    assert unpack(made.encode(), "x.json") == run


def long_prompts(count: int) -> RecordedRun:
    """Model calls with a growing prompt, each stored as what is new in it."""
    rows = {1: Stored(1, '{"model":"m","messages":["hello"]}', None)}
    steps = []
    for number in range(1, count + 1):
        if number > 1:
            new = f'{{"messages":["turn {number}"]}}'
            rows[number] = Stored(number, new, None, number - 1, number - 1, "messages")
        chain = [rows[at] for at in range(number, 0, -1)]
        steps.append(RecordedStep(number, "llm_call", "m", None, None, payload(chain, "{}")))
    return run_of(*steps)


def test_a_long_prompt_is_written_as_what_is_new_in_it_and_read_whole() -> None:
    run = long_prompts(40)
    made = pack(run)
    assert made.count(b"turn 7") == 1
    found = unpack(made, "x.json")
    assert [step.payload.input for step in found.steps] == [step.payload.input for step in run.steps]
    assert [step.payload.chain for step in found.steps] == [step.payload.chain for step in run.steps]


def test_a_step_is_a_block_of_lines_and_a_text_of_several_lines_is_written_line_by_line() -> None:
    prompt = {"messages": [{"role": "system", "content": "You refund.\nNever twice."}]}
    assert (
        pack(run_of(tool(1, prompt, {"found": [1, 2]}))).decode()
        == """\
{
  "stepwell_recording": 1,
  "run": {
    "run_id": "7f3a0000-0000-4000-8000-000000000001",
    "name": "refund",
    "status": "ok",
    "tags": {"tenant": "ü"}
  },
  "steps": [
    {
      "number": 1,
      "type": "tool_call",
      "name": "search",
      "lane": 1,
      "input": {
        "messages": [
          {
            "role": "system",
            "content": {"$lines": [
              "You refund.",
              "Never twice."
            ]}
          }
        ]
      },
      "output": {"found": [1, 2]}
    }
  ],
  "times": {
    "run": {"started": "2026-03-01T12:00:00.000123Z", "finished": "2026-03-01T12:00:00.000123Z"},
    "1": {"started": "2026-03-01T12:00:00.000123Z", "finished": "2026-03-01T12:00:00.000123Z"}
  },
  "random": {},
  "drawn": {}
}
"""
    )


def test_a_recording_that_took_other_times_differs_in_its_times_alone() -> None:
    later = NOON + timedelta(seconds=1)
    one, other = (
        pack(run_of(tool(1, {}, 1), tool(2, {}, 2, finished=at))).splitlines() for at in (NOON, later)
    )
    changed = [new for old, new in zip(one, other, strict=True) if old != new]
    assert [line.split()[0] for line in changed] == [b'"2":']


def test_a_character_that_a_terminal_would_obey_is_written_as_an_escape() -> None:
    made = pack(run_of(tool(1, {"a": "\x9b31m \u202e \x7f \U000e0041 ü"}, 1)))
    assert all(char.isprintable() or char == "\n" for char in made.decode())
    assert "ü" in made.decode()


def test_a_file_is_told_by_how_it_begins_however_it_is_laid_out_or_packed() -> None:
    made = pack(run_of())
    assert recognises(made)
    assert recognises(gzip.compress(made))
    assert recognises(json.dumps(json.loads(made)).encode())
    assert not recognises(b'{"messages": []}')
    assert not recognises(gzip.compress(b"[]"))
    assert not recognises(b"\x1f\x8bno")


def with_times(**times: object) -> bytes:
    made = json.loads(pack(run_of(tool(1, 1, 1))))
    made["times"]["1"] |= times
    return json.dumps(made).encode()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[]", "not a recording that `stepwell export` wrote"),
        (b'{"stepwell_recording": 9}', "version 9 of recordings, and only 1 is known"),
        (b'{"stepwell_recording": 1', "delimiter: line 1 column 25"),
        (b'{"stepwell_recording": 1}', "there is no 'run' in it: edited by hand?"),
        (
            pack(run_of(tool(1, 1, 1))).replace(b'"number": 1', b'"number": "1"'),
            "number is '1': edited by hand?",
        ),
        (
            pack(run_of(tool(1, 1, 1))).replace(b'"number": 1', b'"number": 9'),
            "step 9 has no times, or had another number: edited by hand?",
        ),
        (pack(run_of(tool(1, 1, 1))).replace(b'"search"', b"7"), "name is 7: edited by hand?"),
        (pack(run_of(tool(1, 1, 1))).replace(b'"lane": 1', b'"lane": true'), "lane is True: edited by hand?"),
        (pack(run_of()).replace(b'{"tenant": "\xc3\xbc"}', b"[1]"), "tags is [1]: edited by hand?"),
        (pack(run_of()).replace(b'"status": "ok"', b'"status": "odd"'), "status is 'odd': edited by hand?"),
        (pack(run_of()).replace(b'"tags"', b'"agents": [1], "tags"'), "agents is [1]: edited by hand?"),
        (pack(run_of(drawn=("00",))).replace(b'["00"]', b"[0]"), "drawn is [0]: edited by hand?"),
        (
            pack(run_of(drawn=("3 00",))).replace(b"3 00", b"3 zz"),
            "drawn of the end is '3 zz': edited by hand?",
        ),
        (with_times(order=[]), "IndexError: list index out of range: edited by hand?"),
        (with_times(order=["1", 1, 1]), "order is ['1', 1, 1]: edited by hand?"),
        (
            with_times(started="2026-01-01T00:00:00"),
            "2026-01-01T00:00:00 is of no time zone: edited by hand?",
        ),
        (pack(run_of()).replace(b'"name": ', b'"loop": {"$lines": [1]}, "name": '), "expected str instance"),
        (gzip.compress(pack(run_of()))[:-9], "its compression is damaged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_read_says_so_in_one_line(data: bytes, why: str) -> None:
    with pytest.raises(InvalidFileError) as caught:
        unpack(data, "x.json")
    assert str(caught.value).startswith("x.json: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
