"""A folder with an agent as its user has it, and a run that was recorded of it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from stepwell import Recorder
from stepwell.rerun.child.process import AgentProcess
from stepwell.store.connect import resolve

AGENT = '''
import ctypes, os, pathlib, signal, subprocess, sys, threading, time, urllib.request

def model(messages):
    return {"text": f"answer to {len(messages)}"}

def search(query, limit=3):
    return [query] * limit

class Order:
    pass

def main(run):
    texts = []
    for turn in range(3):
        texts.append(run.llm(model, list(texts))["text"])
        run.tool(search, texts[-1])
        print("turn", turn)
        if turn == 1:
            act()
    return run.result(texts[-1])

def act():
    """What the file beside says, when this is replayed."""
    if os.path.exists("act"):
        exec(compile(pathlib.Path("act").read_text(), "act.py", "exec"), globals())
'''


@dataclass(frozen=True)
class Project:
    """Its agent has six steps; after the fourth it does what `act` is told."""

    folder: Path
    dsn: str
    run_id: UUID

    def process(self, agent: str = "agent:main", **options: Any) -> AgentProcess:
        return AgentProcess(resolve(self.dsn), self.run_id, agent, cwd=self.folder, **options)

    def act(self, text: str) -> None:
        (self.folder / "act").write_text(text)

    def write(self, name: str, text: str) -> None:
        """A module of the agent's."""
        (self.folder / f"{name}.py").write_text(text)


@contextmanager
def made(folder: Path, dsn: str) -> Iterator[Project]:
    """Record the agent in this process, in that folder."""
    file = folder / "agent.py"
    file.write_text(AGENT)
    spec = importlib.util.spec_from_file_location("agent", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with closing(Recorder(dsn, durability="async")) as recorder, recorder.run("project") as run:
        module.main(run)
    yield Project(folder, dsn, run.run_id)


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))


def in_group(group: int) -> bool:
    """Whether a process of the group is there, be it only its remains."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
