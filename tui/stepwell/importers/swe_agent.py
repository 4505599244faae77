"""SWE-agent trajectories: one entry a turn, with text actions or function calls, and mini-swe-agent's lists.

`history` holds what the model was sent, `trajectory` what happened; they are not one to one, since
demonstrations are in the first and forced exits only in the second. A `state` written as a JSON string
(before version 1) was read before the turn's action, one written as an object after it. `execution_time`
has no place in a step: the file says neither when an action began nor when it ended.
"""

import re
from collections.abc import Iterator, Mapping

from stepwell.core import state as states
from stepwell.core.recording import ImportedRun
from stepwell.core.steps import LLM_CALL, STATE_UPDATE, TOOL_CALL
from stepwell.core.world import MISSING
from stepwell.importers import swe_agent_mini
from stepwell.importers.building import Builder
from stepwell.importers.conversation import chat_reply
from stepwell.importers.document import Document, Item, kind, parse_object
from stepwell.importers.swe_agent_info import info_tags, outcome

NAME = "swe-agent"
TITLE = "SWE-agent trajectory"
_ENTRY = ("action", "observation", "response", "thought")
_COMMAND = re.compile(r"^(\w+):\n[ \t]+docstring:", re.MULTILINE)


def recognises(document: Document) -> bool:
    first = document.items[0]
    return _is_trajectory(first) or swe_agent_mini.is_mini(first)


def read(document: Document) -> tuple[ImportedRun, ...]:
    """One run a trajectory. Raises InvalidFileError with the line or path of what is wrong."""
    return tuple(
        swe_agent_mini.read_run(item) if swe_agent_mini.is_mini(item) else _Trajectory(item).run()
        for item in document.items
    )


def _is_trajectory(item: Item) -> bool:
    entries = item.get("trajectory")
    if not isinstance(entries, list):
        return False
    return not entries or (isinstance(entries[0], dict) and any(key in entries[0] for key in _ENTRY))


class _Trajectory:
    """One trajectory on its way to steps."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self._entries = (item / "trajectory").objects()
        if not self._entries:
            raise (item / "trajectory").place.error("no turns in it")
        history = item / "history"
        self._history = [] if history.value is None else history.objects()
        self._replies = [
            index
            for index, message in enumerate(self._history)
            if message.get("role") == "assistant" and not message.get("is_demo")
        ]
        self._config = _config(item)
        self._commands = self._documented()
        self._builder = Builder()
        self._state: object = MISSING

    def run(self) -> ImportedRun:
        for entry, prompt, reply in self._turns():
            self._add_turn(entry, prompt, reply)
        status, error = outcome(self._item / "info")
        problem = self._config / "problem_statement"
        name = self._item.get("instance_id") or problem.get("id")
        return ImportedRun(
            self._builder.steps(),
            name=name if isinstance(name, str) and name else None,
            status=status,
            error=error,
            tags=info_tags(self._item),
        )

    def _turns(self) -> Iterator[tuple[Item, object, Item | None]]:
        """Each entry with its prompt (MISSING where the file has none) and its message in `history`."""
        position = 0
        for entry in self._entries:
            _check_entry(entry)
            found = next((p for p in range(position, len(self._replies)) if self._is_reply(p, entry)), None)
            ahead = position if found is None else found
            index = self._replies[ahead] if ahead < len(self._replies) else len(self._history)
            prompt: object = [message.value for message in self._history[:index]] or MISSING
            for key in ("query", "messages"):
                if isinstance(entry.get(key), list) and entry.get(key):
                    prompt = entry.get(key)
                    break
            yield entry, prompt, None if found is None else self._history[self._replies[found]]
            if found is not None:
                position = found + 1

    def _is_reply(self, position: int, entry: Item) -> bool:
        message = self._history[self._replies[position]]
        content, response, action = message.get("content"), entry.get("response"), entry.get("action")
        if isinstance(content, list):
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        return (bool(response) and content == response) or (bool(action) and message.get("action") == action)

    def _add_turn(self, entry: Item, prompt: object, reply: Item | None) -> None:
        agent = None if reply is None else reply.get("agent")
        by = agent if isinstance(agent, str) else None
        state = entry.get("state")
        if isinstance(state, str):
            parsed = parse_object(state)
            self._add_state(state if parsed is None else parsed, by)
        self._add_call(entry, prompt, reply, by)
        self._add_action(entry, reply, by)
        if not isinstance(state, str):
            self._add_state(state, by)

    def _add_call(self, entry: Item, prompt: object, reply: Item | None, agent: str | None) -> None:
        response = entry.get("response")
        if reply is None and not response:
            return
        model = (self._config / "agent" / "model").get("name")
        named = {"model": model} if isinstance(model, str) else {}
        given = MISSING if prompt is MISSING else {**named, "messages": prompt}
        number = self._builder.begin(LLM_CALL, given, name=named.get("model"), agent=agent)
        answer = {"role": "assistant", "content": response} if reply is None else reply.value
        self._builder.finish(number, answer)

    def _add_action(self, entry: Item, reply: Item | None, agent: str | None) -> None:
        action = entry.get("action")
        calls = [] if reply is None else chat_reply(reply).calls
        name: str
        given: Mapping[str, object]
        if len(calls) == 1:
            name, given = calls[0].name, calls[0].input
        elif isinstance(action, str) and action.strip():
            word = action.split(maxsplit=1)[0]
            name = word if word in self._commands or word.startswith("exit_") else "bash"
            given = {"command": action}
        else:
            return
        number = self._builder.begin(TOOL_CALL, given, name=name, agent=agent)
        if entry.get("observation") is not None:
            self._builder.finish(number, entry.get("observation"))

    def _add_state(self, state: object, agent: str | None) -> None:
        """A step that holds what has changed; none where nothing has."""
        if state is None or state in ("", {}):
            return
        ops = states.diff(self._state, state)
        if ops:
            number = self._builder.begin(STATE_UPDATE, {states.PATCH: ops}, agent=agent)
            self._builder.finish(number, states.paths(ops))
            self._state = state

    def _documented(self) -> frozenset[str]:
        """Names of the agent's own commands, as its prompt documents them; all else goes to the shell."""
        texts = [(self._config / "agent" / "tools").get("command_docs")]
        texts += [m.get("content") for m in self._history if m.get("role") == "system"]
        return frozenset(name for text in texts if isinstance(text, str) for name in _COMMAND.findall(text))


def _check_entry(entry: Item) -> None:
    for key in ("action", "response", "observation"):
        value = entry.get(key)
        if value is not None and not isinstance(value, str):
            raise (entry.place / key).error(f"text is expected here, not {kind(value)}")


def _config(item: Item) -> Item:
    """`replay_config`, which some versions write as JSON inside a string."""
    config = item / "replay_config"
    if isinstance(config.value, str):
        return Item(parse_object(config.value), config.place)
    return config
