"""A recorded run as one file: JSON for people and for `git diff`, a step a block of lines.

    stepwell_recording   the version of this format, 1
    run                  what `agent_runs` holds of it; `result` is what it has come to
    steps                one object each, by their numbers: `input`, `output`, `error` and their exact halves as in
                         `agent_steps`. A long prompt is what is new in it, where it was stored so: `base` is then the
                         step that it is a difference to, and `keep`, `list` and `removed` say how (`core.deltas`)
    times                when the run and each step began and finished. `order` is its place among those that
                         finished, how many had finished when it began, and how many had begun when it finished; left
                         out where each step began after the one before had finished
    random, drawn        what a replay gives back of chance, by step: `begin` is before the first, `end` after the last

What is different at each recording (`times`, `random`, `drawn`) stands at the end. A field that is left out is NULL.
The tables as of the steps are not in it.
"""

import gzip
import re
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from stepwell.core.codec import dump
from stepwell.core.codec import parse as parse_json
from stepwell.core.lines import fold, lay_out, one_line
from stepwell.core.recorded import RecordedRun, RecordedStep
from stepwell.core.steps import Loop, RunHead, Stored
from stepwell.core.whole import payload, with_bases
from stepwell.errors import EncodingError, InvalidFileError

VERSION = 1
MARK = "stepwell_recording"
BEFORE = "as before"
"""Stands for the numbers of a state of `random` that are those of the one before."""
_BEGINNING = re.compile(rf'\s*{{\s*"{MARK}"\s*:'.encode())
_GZIP = b"\x1f\x8b"
_FIELDS: dict[str, type] = {
    **dict.fromkeys(("type", "name", "agent", "form", "finish_reason"), str),
    **dict.fromkeys(("parent", "lane", "seed", "tokens_in", "tokens_out"), int),
}
"""Of a step, and what they are where they are not NULL."""
_DIFFERENCE: dict[str, type] = {"base": int, "keep": int, "list": str}
_ABOUT: dict[str, type] = {
    "status": str,
    "tags": dict,
    **dict.fromkeys(("name", "error", "source", "zone"), str),
    "seed": int,
}
_TIMES: dict[str, type] = {"started": str, "finished": str}
_STATUSES = ("ok", "failed", "died", "running", "unknown")


def pack(run: RecordedRun, *, compressed: bool = False) -> bytes:
    """The content of a file, compressed with gzip. Raises EncodingError for what is nested too deeply."""
    try:
        data = lay_out(_made(run)).encode()
    except RecursionError:
        raise EncodingError("a value of the run is nested too deeply for a file") from None
    return gzip.compress(data, mtime=0) if compressed else data


def recognises(data: bytes) -> bool:
    """Whether these are the bytes of such a file."""
    if not data.startswith(_GZIP):
        return _BEGINNING.match(data) is not None
    try:
        start = zlib.decompressobj(wbits=31).decompress(data, 100)
    except zlib.error:
        return False
    return _BEGINNING.match(start) is not None


def unpack(data: bytes, name: str) -> RecordedRun:
    """The run in the file called `name`. Raises InvalidFileError."""
    if not recognises(data):
        raise InvalidFileError(f"{name}: not a recording that `stepwell export` wrote")
    try:
        made = parse_json(gzip.decompress(data) if data.startswith(_GZIP) else data, fold)
    except (OSError, EOFError, zlib.error) as problem:
        raise InvalidFileError(f"{name}: its compression is damaged: {problem}") from problem
    except (
        ValueError,
        TypeError,
        EncodingError,
    ) as problem:  # no JSON, no lines of text, or nested too deeply
        raise InvalidFileError(f"{name}: {problem}") from problem
    assert isinstance(made, dict)
    if made[MARK] != VERSION:
        raise InvalidFileError(
            f"{name}: version {made[MARK]!a} of recordings, and only {VERSION} is known; upgrade Stepwell"
        )
    try:
        run = _read(made)
        deque(run.draws(), 0)  # raises where one is none
        return run
    except EncodingError as problem:
        raise InvalidFileError(f"{name}: {problem}") from problem
    except KeyError as problem:
        raise InvalidFileError(f"{name}: there is no {problem} in it: edited by hand?") from problem
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise InvalidFileError(f"{name}: {type(problem).__name__}: {problem}: edited by hand?") from problem


# -- writing --


def _made(run: RecordedRun) -> dict[str, object]:
    head = run.head
    about = {
        "run_id": str(head.run_id),
        "name": head.name,
        "status": head.status,
        "error": head.error,
        "tags": dict(head.tags) or None,
        "agents": list(head.agents) or None,
        "loop": None if head.loop is None else asdict(head.loop),
        "source": head.source,
        "seed": run.seed,
        "zone": run.zone,
    }
    times = {"run": _given({"started": _time(head.started), "finished": _time(head.finished)})}
    times |= {str(step.number): _times(position, step) for position, step in enumerate(run.steps, 1)}
    random = _texts({"begin": run.random, **{str(step.number): step.random_after for step in run.steps}})
    drawn = {str(step.number): list(step.drawn) for step in run.steps if step.drawn}
    return {
        MARK: VERSION,
        "run": _given(about) | _texts({"result": run.result, "result_exact": run.result_exact}),
        "steps": [_step(step) for step in run.steps],
        "times": times,
        "random": dict(_without_repeats(random)),
        "drawn": drawn | ({"end": list(run.drawn)} if run.drawn else {}),
    }


def _without_repeats(random: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The states of `random`, whose many numbers are new with every 624th draw only."""
    last = None
    for place, state in random.items():
        numbers = state.get("numbers") if isinstance(state, dict) else None
        yield place, {**state, "numbers": BEFORE} if numbers is not None and numbers == last else state
        last = numbers or last


def _with_repeats(random: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    last = None
    for place, state in random.items():
        numbers = state.get("numbers") if isinstance(state, dict) else None
        yield place, {**state, "numbers": last} if numbers == BEFORE else state
        last = last if numbers == BEFORE else numbers or last


def _step(step: RecordedStep) -> dict[str, object]:
    row = step.payload
    own = row.chain[0] if row.chain else Stored(step.number, row.input, row.input_exact)
    fields = {name: getattr(step, name) for name in _FIELDS} | {
        name: getattr(own, name) for name in _DIFFERENCE
    }
    texts = {
        "removed": own.removed,
        "input": own.plain,
        "input_exact": own.exact,
        "output": row.output,
        "output_exact": row.output_exact,
        "error": row.error,
    }
    return {"number": step.number, **_given(fields), **_texts(texts)}


def _times(position: int, step: RecordedStep) -> dict[str, object]:
    order = [step.finished_order, step.finished_before, step.started_before]
    fields = {"started": _time(step.started), "finished": _time(step.finished)}
    return _given({**fields, "order": None if order == _in_turn(position) else order})


def _in_turn(position: int) -> list[int | None]:
    """The order of a step that begins when the one before has finished, and finishes before the next begins."""
    return [position, position - 1, position]


def _given(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _texts(texts: Mapping[str, str | None]) -> dict[str, object]:
    return {name: parse_json(text) for name, text in texts.items() if text is not None}


def _time(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


# -- reading --


def _read(made: dict[str, Any]) -> RecordedRun:
    about, times, drawn = made["run"], made["times"], made["drawn"]
    random = dict(_with_repeats(made["random"]))
    rows = {
        row["number"]: _stored(_checked(row, {"number": int, **_FIELDS, **_DIFFERENCE}))
        for row in made["steps"]
    }
    steps = []
    for position, row in enumerate(made["steps"], 1):
        number = row["number"]
        if str(number) not in times:
            raise EncodingError(f"step {number} has no times, or had another number: edited by hand?")
        when = _checked(times[str(number)], _TIMES)
        order = _order(when.get("order", _in_turn(position)))
        chain = with_bases(rows[number], rows)
        step = RecordedStep(
            number,
            payload=payload(chain, _text(row, "output"), _text(row, "output_exact"), _text(row, "error")),
            started=_moment(when.get("started")),
            finished=_moment(when.get("finished")),
            random_after=_text(random, str(number)),
            drawn=_strings("drawn", drawn.get(str(number), [])),
            finished_order=order[0],
            finished_before=order[1],
            started_before=order[2],
            **{name: row.get(name) for name in _FIELDS} | {"type": row["type"]},
        )
        steps.append(step)
    return RecordedRun(
        _head(_checked(about, _ABOUT), _checked(times["run"], _TIMES), steps),
        tuple(steps),
        _text(about, "result"),
        _text(about, "result_exact"),
        _text(random, "begin"),
        _strings("drawn", drawn.get("end", [])),
        about.get("seed"),
        about.get("zone"),
    )


def _checked(row: dict[str, Any], kinds: Mapping[str, type]) -> dict[str, Any]:
    """The row, of which everybody relies on the types. Raises ValueError."""
    for name, kind in kinds.items():
        if row.get(name) is not None and type(row[name]) is not kind:
            raise ValueError(f"{name} is {row[name]!r:.40}")
    return row


def _order(value: list[Any]) -> list[int | None]:
    if not all(each is None or type(each) is int for each in value):
        raise ValueError(f"order is {value!r:.40}")
    return value


def _strings(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} is {value!r:.40}")
    return tuple(value)


def _head(about: dict[str, Any], times: dict[str, Any], steps: list[RecordedStep]) -> RunHead:
    loop = about.get("loop")
    if about["status"] not in _STATUSES:
        raise ValueError(f"status is {about['status']!r:.40}")
    head = RunHead(
        UUID(about["run_id"]),
        about["status"],
        about.get("name"),
        about.get("tags", {}),
        len(steps),
        agents=_strings("agents", about.get("agents", [])),
        started=_moment(times.get("started")),
        finished=_moment(times.get("finished")),
        error=about.get("error"),
        loop=None if loop is None else Loop(**loop),
        source=about.get("source"),
    )
    unfinished = [step for step in steps if step.in_doubt]
    if not unfinished:
        return head
    newest = unfinished[-1]
    return replace(
        head,
        unfinished=len(unfinished),
        unfinished_name=newest.name,
        unfinished_number=newest.number,
        unfinished_started=newest.started,
    )


def _stored(row: dict[str, Any]) -> Stored:
    texts = _text(row, "input"), _text(row, "input_exact")
    base, keep, list_ = (row.get(name) for name in _DIFFERENCE)
    return Stored(row["number"], *texts, base, keep, list_, _text(row, "removed"))


def _text(row: dict[str, Any], name: str) -> str | None:
    """JSON text as the codec takes it; None for the NULL of a field that is not there."""
    if name not in row:
        return None
    try:
        return dump(row[name])
    except (TypeError, ValueError):  # numbers that have more digits than a float, or than str(int) gives
        return one_line(row[name])


def _moment(text: str | None) -> datetime | None:
    moment = None if text is None else datetime.fromisoformat(text)
    if moment is not None and moment.tzinfo is None:
        raise ValueError(f"{text} is of no time zone")
    return moment
