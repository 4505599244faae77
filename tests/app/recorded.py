"""Recorded runs of fixed ids, times and numbers, so that what the screens show of them never changes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from stepwell.core.liveness import lock_key
from tests.store.rows import NOON, run_id

LOOPING, DIED, SWARM, LIVE = (run_id(n) for n in (0x7F3A0000, 0xB20C0000, 0x91DE0000, 0x11FE0000))
HOSTILE, BIG, EMPTY, BARE = (run_id(n) for n in (0x0BAD0000, 0x0B160000, 0x0E000000, 0xBA2E0000))

CUT = 2048
"""Characters of a tool's output that the looping agent shows its model."""
ATTACK = "\x1b]52;c;cm0=\x07\x1b[2J\r\x9b5n\u202eRTL[bold]int[] [/x]\x7f"
"""Copies, clears, asks, turns around and opens markup, if it ever gets to a terminal."""

Json = dict[str, Any]


@dataclass
class Script:
    """The steps of one run, one after the other unless told otherwise, and its row of agent_runs."""

    run: UUID
    rows: list[Json] = field(default_factory=list)
    clock: datetime = NOON
    finished: int = 0

    def step(
        self, type_: str, name: str | None, given: object, *gave: object, took: float = 0.3, **more: object
    ) -> int:
        """Add a step that lasts `took` seconds; without `gave` it never finishes. Returns its number."""
        row: Json = {
            "run_id": self.run,
            "step_number": len(self.rows) + 1,
            "step_type": type_,
            "name": name,
            "input": Jsonb(given),
            "created_at": self.clock,
            "started_at": self.clock,
            "finished_before": self.finished,
        }
        if gave or "error" in more:
            self.finished += 1
            self.clock += timedelta(seconds=took)
            row |= {
                "finished_at": self.clock,
                "finished_order": self.finished,
                "started_before": len(self.rows) + 1,
            }
        if gave:
            row["output"] = Jsonb(gave[0])
        self.rows.append(row | more)
        return len(self.rows)

    def write(self, dsn: str, **head: object) -> None:
        """Insert all of it in one transaction."""
        agents = list(dict.fromkeys(row["agent"] for row in self.rows if row.get("agent")))
        head = {"status": "ok", "started_at": NOON, "finished_at": self.clock, "agents": agents} | head
        counts = {"run_id": self.run, "steps": len(self.rows), "finished": self.finished}
        with psycopg.connect(dsn) as connection:
            insert(connection, "agent_runs", counts | head)
            for row in self.rows:
                insert(connection, "agent_steps", row)


def insert(connection: psycopg.Connection, table: str, row: Json) -> None:
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, row)),
            sql.SQL(", ").join(sql.Placeholder() * len(row)),
        ),
        list(row.values()),
    )


def failure(type_: str, message: str) -> Jsonb:
    """An exception as the recorder keeps it."""
    return Jsonb({"type": type_, "message": message})


def asking(tool: str, number: int, **arguments: object) -> Json:
    """A model's message that asks for one call."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }


def reply(message: Json, tokens: tuple[int, int] = (812, 36)) -> Json:
    """What a model's SDK returns."""
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def orders(number: int = 230) -> list[Json]:
    items, states = ("lamp", "lamp", "desk", "lamp", "chair"), ("ok", "ok", "ok", "no")
    return [{"id": 8102 + 7 * n, "item": items[n % 5], "status": states[n % 4]} for n in range(number)]


class Talk:
    """A conversation with a model, each of whose answers asks for one tool."""

    def __init__(self, script: Script, agent: str | None = None) -> None:
        self.script = script
        self.agent = agent
        self.messages: list[Json] = [
            {"role": "system", "content": "You are the refund desk of a lamp shop."},
            {"role": "user", "content": "Order 8841: the lamp arrived broken. I want my money back.\nAda"},
        ]

    def ask(self, message: Json, took: float = 1.6, **more: object) -> None:
        """One model call that answers with `message`."""
        given = {"model": "gpt-5-mini", "messages": list(self.messages), "seed": 7}
        tokens = (400 + 90 * len(self.messages), 36)
        self.script.step(
            "llm_call", "gpt-5-mini", given, reply(message, tokens), took=took, agent=self.agent,
            tokens_in=tokens[0], tokens_out=tokens[1], finish_reason="tool_calls", **more,
        )  # fmt: skip
        self.messages.append(message)

    def call(self, tool: str, given: Json, gave: object, took: float = 0.3, **more: object) -> None:
        """One model call, and the tool call that it asks for."""
        number = len(self.messages)
        self.ask(asking(tool, number, **given))
        self.script.step("tool_call", tool, given, gave, took=took, agent=self.agent, seed=7, **more)
        self.messages.append(
            {"role": "tool", "tool_call_id": f"call_{number}", "content": json.dumps(gave)[:CUT]}
        )


def looping(dsn: str) -> UUID:
    """52 steps: a customer is looked up, then 24 times the same search whose output is cut; then it gives up."""
    script = Script(LOOPING)
    talk = Talk(script, "triage")
    talk.call("get_customer", {"customer": 42}, {"customer": 42, "name": "Ada"}, took=0.04, call_hash=1)
    state = {"plan": ["find order", "refund"], "tries": 3, "customer": 42}
    script.step("state_update", None, None, state, took=0.001, agent="triage")
    for _ in range(24):
        given = {"query": "broken lamp order 8841", "limit": 230}
        talk.call("search_orders", given, orders(), call_hash=2)
    error = failure("shop.agent.MaxTurnsError", "25 turns")
    given = {"model": "gpt-5-mini", "messages": talk.messages, "seed": 7}
    script.step("llm_call", "gpt-5-mini", given, took=0.002, agent="triage", error=error)
    loop = {"name": "search_orders", "first": 5, "last": 51, "period": 1, "laps": 24}
    script.write(
        dsn, name="refund-triage", status="failed", error=error, loop=Jsonb(loop), tags=Jsonb({"tenant": "a"})
    )
    return LOOPING


def died(dsn: str) -> UUID:
    """The process ended while a mail was being sent: nobody knows whether it went out."""
    script = Script(DIED)
    talk = Talk(script)
    talk.call("get_customer", {"customer": 57}, {"customer": 57, "name": "Noor"}, call_hash=1)
    script.step("state_update", None, None, {"refunded": [8841]}, took=0.001)
    talk.ask(asking("send_email", 9, to="noor@example.org"))
    script.step("tool_call", "send_email", {"to": "noor@example.org", "subject": "Your refund"})
    script.write(dsn, name="refund-triage", status="running", finished_at=None)
    return DIED


def swarm(dsn: str) -> UUID:
    """Three agents: triage asks a and b at once, b asks c; the calls of a and b overlap."""
    script = Script(SWARM)
    triage = Talk(script, "triage")
    triage.call("get_customer", {"customer": 42}, {"customer": 42, "name": "Ada"}, call_hash=1)
    spread = script.step(
        "tool_call", "ask_both", {"question": "refund?"}, "a and b agree", agent="triage", took=9
    )
    script.clock -= timedelta(seconds=9)
    Talk(script, "a").ask({"role": "assistant", "content": "Refund it."}, took=4.0, parent_step=spread)
    script.clock -= timedelta(seconds=3.5)
    other = Talk(script, "b")
    other.ask(asking("fetch_policy", 1, kind="refund"), took=1.9, parent_step=spread)
    policy = script.step(
        "tool_call", "fetch_policy", {"kind": "refund"}, "Broken on arrival: refund in full.",
        took=0.52, agent="b", parent_step=spread, call_hash=5,
    )  # fmt: skip
    script.clock -= timedelta(seconds=0.4)
    script.step("llm_call", "gpt-5-mini", {"messages": []}, "short", took=0.2, agent="c", parent_step=policy)
    script.clock += timedelta(seconds=0.2)
    script.step("state_update", None, None, {"verdict": "refund"}, took=0.01, agent="b", parent_step=spread)
    script.clock = NOON + timedelta(seconds=12)
    triage.ask({"role": "assistant", "content": "Refunded."})
    in_the_order_of_finishing(script.rows)
    script.write(dsn, name="refund-swarm")
    return SWARM


def in_the_order_of_finishing(rows: list[Json]) -> None:
    """Number the steps of overlapping calls as a recorder that saw them finish would have done."""
    for order, row in enumerate(sorted(rows, key=lambda row: row["finished_at"]), start=1):
        row["finished_order"] = order
    for row in rows:
        row["finished_before"] = sum(other["finished_at"] <= row["started_at"] for other in rows)
        row["started_before"] = sum(other["started_at"] <= row["finished_at"] for other in rows)


def hostile(dsn: str) -> UUID:
    """Every field that a recorder or a hand can fill holds text that attacks the terminal."""
    script = Script(HOSTILE)
    messages = [
        {"role": ATTACK, "content": ATTACK},
        {"role": "user", "content": [{"type": ATTACK, "text": ATTACK}]},
    ]
    answer = reply({"role": ATTACK, "content": ATTACK})
    given = {ATTACK: ATTACK, "messages": messages}
    script.step("llm_call", ATTACK, given, answer, agent=ATTACK, finish_reason=ATTACK)
    script.step("tool_call", ATTACK, {ATTACK: [ATTACK]}, ATTACK, agent=ATTACK, call_hash=1)
    script.step("tool_call", ATTACK, {ATTACK: [ATTACK]}, ATTACK, agent=ATTACK, call_hash=1)
    script.step("state_update", None, None, {ATTACK: {ATTACK: ATTACK}}, agent="other")
    script.step(ATTACK, ATTACK, ATTACK, ATTACK, agent=ATTACK)
    script.step("tool_call", ATTACK, {"x": ATTACK}, agent=ATTACK, error=failure(ATTACK, ATTACK))
    tags = Jsonb({ATTACK: ATTACK})
    script.write(dsn, name=ATTACK, status="failed", error=failure(ATTACK, ATTACK), tags=tags, source=ATTACK)
    return HOSTILE


def big(dsn: str, characters: int = 10_000_000) -> UUID:
    """A tool that returned so many characters, the last of which is a full stop."""
    script = Script(BIG)
    script.step(
        "tool_call", "read_log", {"path": "/var/log/lamps"}, "0123456789 " * (characters // 11) + "END."
    )
    script.write(dsn, name="log-reader")
    return BIG


def empty(dsn: str) -> UUID:
    """A run that has been started and took no step."""
    Script(EMPTY).write(dsn, name="idle", status="ok")
    return EMPTY


def bare(dsn: str) -> UUID:
    """Three rows as people write them, in a table that has nothing but the eight columns."""
    texts = [
        (
            "llm_call",
            {"messages": [{"role": "user", "content": "Where is order 8841?"}]},
            "I will look it up.",
        ),
        ("tool_call", {"query": "8841"}, [{"id": 8841, "status": "ok"}]),
        ("state_update", None, {"order": 8841}),
    ]
    with psycopg.connect(dsn) as connection:
        for number, (type_, given, gave) in enumerate(texts, start=1):
            row = {"run_id": BARE, "step_number": number, "step_type": type_, "input": Jsonb(given)}
            insert(connection, "agent_steps", row | {"output": Jsonb(gave), "created_at": NOON})
    return BARE


def live(dsn: str, steps: int = 3) -> UUID:
    """A run of which `alive` says that it goes on."""
    script = Script(LIVE)
    for number in range(1, steps + 1):
        script.step("tool_call", "poll", {"turn": number}, number)
    script.write(dsn, name="poller", status="running", finished_at=None)
    return LIVE


@contextmanager
def alive(dsn: str, run: UUID = LIVE) -> Iterator[psycopg.Connection]:
    """Hold the lock by which a recorder's run is seen to live; a connection to go on recording it with."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock_shared(%s)", [lock_key(run)])
        yield connection


def go_on(connection: psycopg.Connection, number: int, run: UUID = LIVE) -> None:
    """Record one more finished step of a live run."""
    now = NOON + timedelta(seconds=number)
    with connection.transaction():
        insert(connection, "agent_steps", {
            "run_id": run, "step_number": number, "step_type": "tool_call", "name": "poll",
            "input": Jsonb({"turn": number}), "output": Jsonb(number), "created_at": now, "started_at": now,
            "finished_at": now, "finished_order": number, "finished_before": number - 1, "started_before": number,
        })  # fmt: skip
        connection.execute(
            "UPDATE agent_runs SET steps = %s, finished = %s WHERE run_id = %s", [number, number, run]
        )


def end(connection: psycopg.Connection, run: UUID = LIVE) -> None:
    """The live run is over, and well."""
    connection.execute("UPDATE agent_runs SET status = 'ok', finished_at = %s WHERE run_id = %s", [NOON, run])
