"""`stepwell export RUN FILE`: a run as a file; with `--pytest`, and a test that replays it."""

import argparse
import os
import sys
from fnmatch import fnmatch
from pathlib import Path

from stepwell.app.present.figures import size
from stepwell.commands.import_ import counted
from stepwell.commands.output import emit, note
from stepwell.commands.session import run_address, target_of
from stepwell.core import cassette
from stepwell.core.recorded import RecordedRun
from stepwell.core.testing import agent_at, name_of_test, source
from stepwell.errors import UsageError
from stepwell.replay.cassettes import ENDING, PACKED, redacted, save
from stepwell.replay.recorded import load
from stepwell.rerun.child.finding import check_name, is_there

LARGE = 4_000_000
"""Bytes from which on a recording beside a test is compressed."""
STDOUT = "-"
NO_TABLES = (
    "its agent was given a connection, and a file holds no tables: a replay of it ends where the agent itself uses"
    " run.connection; wrap such reads in run.tool"
)
HOLDS = "it holds prompts and tool outputs as recorded; redacted parts stay redacted"
JSON_HELP = """\
The file is JSON, a step a block of lines: the whole run but for the tables as
of its steps. `stepwell import` takes it into another database, and in Python
stepwell.replay_file replays it without one. It is compressed where its name
ends in .gz, and beside a test where it has more than 4 MB.

with --json, one object:
  run_id, steps   the run, and how many steps it has
  recording       the file, or "-"
  test            the test, or null
  bytes           the size of the recording
  redacted        names that what is left out of it stands under, an empty text
                  for a whole value
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the beginning of a run's id, @failed or @last")
    parser.add_argument("file", nargs="?", metavar="FILE", help="where to; - for standard output")
    parser.add_argument(
        "--pytest",
        metavar="TEST",
        help="write a test too, such as tests/test_refund.py, the recording beside it",
    )
    parser.add_argument(
        "--agent", metavar="MODULE:CALLABLE", help="what the test calls with the run: shop.agent:triage"
    )
    parser.add_argument("--name", metavar="NAME", help="of the test; by default that of its file")
    parser.add_argument("--force", action="store_true", help="write over files that are there")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Write the files. Raises NotFoundError for no such run, UsageError, OSError; then nothing is written."""
    address = run_address(args.run, "export")
    if (args.file is None) == (args.pytest is None):
        raise UsageError(
            f"where to? stepwell export {args.run} FILE, or --pytest tests/test_refund.py --agent …"
        )
    if args.pytest is None:
        if args.agent or args.name:
            raise UsageError("--agent and --name are of a test: --pytest tests/test_refund.py")
        return _write_recording(args, address.run)
    return _write_test(args, address.run)


def _write_recording(args: argparse.Namespace, prefix: str) -> int:
    to_stdout = args.file == STDOUT
    if to_stdout and args.json:
        raise UsageError("the recording is JSON already; --json goes with a file")
    path = Path(args.file)
    if not to_stdout:
        _see_that_it_may_be_written(path, force=args.force)
    target = target_of(args)
    recorded = load(target, prefix)
    data = cassette.pack(recorded, compressed=not to_stdout and path.suffix == PACKED)
    if to_stdout:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        save(path, data)
    _say(args, recorded, args.file, None, len(data))
    _say_what_is_missing(recorded)
    return 0


def _write_test(args: argparse.Namespace, prefix: str) -> int:
    test = Path(args.pytest)
    if test.suffix != ".py":
        raise UsageError(f"a test is a file of Python: --pytest {test.with_suffix('.py')}")
    if args.agent is None:
        raise UsageError("whose test? name what it calls with the run: --agent package.module:callable")
    check_name(args.agent)
    agent, name = agent_at(args.agent), name_of_test(args.name or test.stem)
    beside = [test.with_name(f"{test.stem}{ENDING}.json{packed}") for packed in ("", PACKED)]
    for path in (test, *beside):
        _see_that_it_may_be_written(path, force=args.force)
    target = target_of(args)
    recorded = load(target, prefix)
    data = cassette.pack(recorded)
    if is_large := len(data) > LARGE:
        data = cassette.pack(recorded, compressed=True)
    recording = beside[is_large]
    hidden = [each for each in redacted(recorded) if each]
    save(recording, data)
    near = is_there(agent.module, [os.getcwd()])
    save(test, source(recorded.head, agent, name, recording.name, hidden, hint=near).encode())
    _say(args, recorded, str(recording), str(test), len(data))
    _say_what_is_missing(recorded)
    if not fnmatch(test.name, "test_*.py") and not fnmatch(test.name, "*_test.py"):
        note(f"pytest looks for test_*.py by itself, and for others where they are named: pytest {test}")
    if not near and not is_there(agent.module):
        note(
            f"no module {agent.module} in {os.getcwd()} or where {sys.executable} looks:"
            " the test fails until pytest finds it"
        )
    return 0


def _see_that_it_may_be_written(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name a file in it")
    if path.exists() and not path.is_file():  # a device would be replaced, not written to
        raise UsageError(f"{path} is no ordinary file; - is standard output")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such directory; make it first")
    if path.exists() and not force:
        raise UsageError(f"{path} is there already; --force writes over it")


def _say_what_is_missing(run: RecordedRun) -> None:
    if run.connected:
        note(NO_TABLES)


def _say(args: argparse.Namespace, run: RecordedRun, recording: str, test: str | None, length: int) -> None:
    """What was written; beside the recording itself where that goes to standard output."""
    if args.json:
        found = {"run_id": run.head.run_id, "steps": len(run.steps), "recording": recording}
        emit({**found, "test": test, "bytes": length, "redacted": list(redacted(run))})
        return
    what = f"run {run.head.run_id.hex[:8]}, {counted(len(run.steps), 'step')}, {size(length)}"
    where = "standard output" if recording == STDOUT else recording
    note(f"wrote {f'{test}, and beside it ' if test else ''}{where}: {what}")
    note(HOLDS)
