"""Sequences of long prompts as agents send them, and what becomes of them in the table."""

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from stepwell.core import codec
from stepwell.core.deltas import LONG
from stepwell.core.steps import Payload, Stored
from stepwell.core.whole import payload
from stepwell.recorder.prompts import Prompts
from tests.core import codec_values as made

Prompt = dict[str, Any]
Edit = Callable[[Prompt], Prompt]
Taken = tuple[str | None, Any]
"""Who sends a prompt, and the prompt."""

PAD = "the rules of the house; " * (LONG // 20)
alike: st.SearchStrategy[Any] = st.sampled_from(
    [1, True, 1.0, 0, False, -0.0, "1", None, [], {}, "\0", "\ud800"]
)
_orders = st.permutations(["role", "content", "name"]).map(lambda keys: dict.fromkeys(keys, 1))


def messages(contents: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Messages as dicts, tuples of keys in any order, and whatever else `contents` has."""
    said = st.builds(lambda role, content: {"role": role, "content": content}, alike, alike | contents)
    return said | _orders | contents


@st.composite
def sequences(draw: st.DrawFn, contents: st.SearchStrategy[Any], least: int = 2) -> list[Taken]:
    """Prompts of two agents that grow, are cut, compacted and edited; each a value of its own."""
    message = messages(contents)
    padded = draw(st.booleans())
    start: Prompt = {"model": "m", "messages": [{"role": "system", "content": PAD if padded else "be kind"}]}
    start |= {} if padded else {"tools": [{"description": PAD}]}
    agents: dict[str | None, Prompt] = {None: start, "b": copy.deepcopy(start)}
    taken: list[Taken] = []
    for edit in draw(st.lists(_edits(message), min_size=least, max_size=12)):
        agent = draw(st.sampled_from([None, None, "b"]))
        agents[agent] = edit(copy.deepcopy(agents[agent]))
        taken.append((agent, agents[agent]))
    return taken


def _edits(message: st.SearchStrategy[Any]) -> st.SearchStrategy[Edit]:
    some = st.lists(message, max_size=4)
    places = st.integers(0, 12)
    keys = st.sampled_from(["model", "tools", "stop", "messages", "input", "\u00fc", "1"])
    return st.one_of(
        some.map(lambda more: lambda p: p | {"messages": [*_list(p), *more]}),
        some.map(lambda more: lambda p: p | {"messages": [*_list(p), *more]}),
        st.builds(
            lambda a, n: lambda p: p | {"messages": [*_list(p)[:a], *_list(p)[a + n :]]}, places, places
        ),
        st.builds(
            lambda a, m: lambda p: p | {"messages": [*_list(p)[:a], m, *_list(p)[a + 1 :]]}, places, message
        ),
        st.builds(lambda key, value: lambda p: p | {key: value}, keys, alike | some | st.just([PAD])),
        keys.map(lambda key: lambda p: {name: value for name, value in p.items() if name != key}),
        st.randoms(use_true_random=False).map(lambda r: lambda p: dict(r.sample(list(p.items()), len(p)))),
        some.map(lambda more: lambda p: p | {"messages": tuple(more)}),
    )


def _list(prompt: Prompt) -> list[Any]:
    found = prompt.get("messages")
    return list(found) if isinstance(found, list | tuple) else []


def payloads(taken: list[Taken]) -> list[Payload]:
    """What is read of prompts that were recorded one after the other."""
    prompts, rows = Prompts(), dict[int, Stored]()
    for number, (agent, value) in enumerate(taken, 1):
        given = prompts.given("llm_call", agent, value, codec.encode(value))
        exact = None if given.exact is None else made.jsonb(given.exact)
        removed = None if given.removed is None else made.jsonb(given.removed)
        plain = made.jsonb(given.plain)
        rows[number] = Stored(number, plain, exact, given.base, given.keep, given.list, removed)
        prompts.begun(given, number)
    return [payload(_chain(rows, number)) for number in rows]


def _chain(rows: dict[int, Stored], number: int) -> list[Stored]:
    chain = [rows[number]]
    while (base := chain[-1].base) is not None:
        chain.append(rows[base])
    return chain


def decoded(read: Payload) -> Any:
    assert read.problem is None
    assert read.input is not None
    return codec.decode(codec.parse(read.input), _exact(read))


def viewed(read: Payload) -> Any:
    assert read.input is not None
    return codec.view(codec.parse(read.input), _exact(read))


def _exact(read: Payload) -> Any:
    return None if read.input_exact is None else codec.parse(read.input_exact)
