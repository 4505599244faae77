"""The command line: words to a command, errors to one line and an exit status."""

import argparse
import contextlib
import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, Protocol, TextIO, cast

import psycopg

from stepwell.app.present.text import clean
from stepwell.errors import StepwellError, UsageError
from stepwell.settings import language_encoding

FOUND_NOTHING, WRONG, TERMINAL_GONE, INTERRUPTED, PIPE_CLOSED = 1, 2, 129, 130, 141


class Command(Protocol):
    """What a module of `stepwell.commands` offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


# Name, which is that of its module, summary, examples. A module is loaded when its command is given.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    (
        "open",
        "open the debugger; the word itself can be left out",
        "stepwell\n  stepwell 7f3a:17\n  stepwell @failed",
    ),
    (
        "runs",
        "list runs, newest first",
        "stepwell runs refund --failed\n  stepwell runs --json --limit 500",
    ),
    ("steps", "list the steps of a run", "stepwell steps 7f3a\n  stepwell steps @failed --json"),
    (
        "show",
        "print what a step was given and gave",
        "stepwell show 7f3a:11\n  stepwell show '7f3a:11:$.output[0].id' --json",
    ),
    (
        "replay",
        "print the world as it was at a step, or replay the agent's own code",
        "stepwell replay 7f3a --to 11\n  stepwell replay 7f3a --agent shop.triage:main --to 11",
    ),
    (
        "sql",
        "print what a query gives, with watched tables as they were at a step",
        "stepwell sql 7f3a:11 'select * from orders where id = 8841'\n  stepwell sql @failed '\\d'",
    ),
    (
        "fork",
        "branch off a run in which a step gave something else",
        "stepwell fork 7f3a:11:'$.output[0].status' '\"paid\"' --dry-run\n  stepwell fork 7f3a:11 -f output.json",
    ),
    ("import", "record runs from files", "stepwell import trajectories/*.traj"),
    (
        "export",
        "write a run to a file, and a test that replays it",
        "stepwell export 7f3a refund.json\n  stepwell export @failed --pytest tests/test_refund.py --agent shop:triage",
    ),
    (
        "init",
        "create the tables, or bring them up to date",
        "stepwell init --dsn postgresql://owner@db1/agents",
    ),
    (
        "watch",
        "log every change of tables, so that steps show them as they were",
        "stepwell watch orders customers\n  stepwell watch 'shop.\"Odd Name\"' --dry-run",
    ),
    ("unwatch", "take out all that watching tables has made", "stepwell unwatch orders"),
    ("watched", "list the watched tables and their logs", "stepwell watched\n  stepwell watched --json"),
    (
        "prune",
        "delete runs that are not worth keeping, or old ones",
        "stepwell prune --dry-run\n  stepwell prune --older-than 30d",
    ),
    (
        "doctor",
        "tell what this role can do here, and what is not well",
        "stepwell doctor\n  stepwell doctor --dsn postgresql://alice@db1/agents --json",
    ),
    (
        "demo",
        "record five example runs and open them",
        "stepwell demo\n  stepwell demo --no-open --dsn scratch",
    ),
)
EPILOG = """\
addresses
  7f3a       a run, by the beginning of its id
  @failed    the newest failed run; @last is the newest of all
  7f3a:17    a step by number; also 50%, @11:42 (UTC) or @+90s (into the run)
  7f3a:17:$.output.choices[0]    a part of a step, for show

examples
  stepwell demo                            record example runs and look at them
  stepwell                                 the list of runs
  stepwell @failed                         the newest failed run
  stepwell postgresql://alice@db1/agents   the list of runs of that database
  stepwell runs --failed --json            for programs

which database: the first of
  --dsn, or a conninfo or URI as the first word
  DATABASE_URL
  libpq's own: PGHOST, PGDATABASE, PGUSER, PGSERVICE, ..., service and password
  files
  the embedded Postgres, if installed: pip install 'stepwell[embedded]'

environment
  STEPWELL_HOME    where the embedded Postgres lives (default: the XDG data
                   folder)
  NO_COLOR         no colours
  PAGER            shows a long value from within the debugger

exit status
  0  done    1  nothing found: no such run, step or path, an empty list
  2  wrong usage, no connection, or the database refuses
  129, 143  the debugger's terminal has gone, or it was told to end
"""
_VALUED = ("--dsn", "--agent", "--python", "--pure", "--timeout", "--memory")
"""Flags before an address whose value is the next word."""
_SEVERAL = ("import", "export", "watch", "unwatch")
"""Commands that take several words, or one more or less."""
_DATABASE = re.compile(r"(postgres|postgresql)(\+\w+)?://|\w+ *=")
_ADDRESS = re.compile(r"@(failed|last)\b|[0-9a-fA-F][0-9a-fA-F-]*(:|\$|$)")


class _Parser(argparse.ArgumentParser):
    intermixed = False
    """Whether flags may stand between the words of a command, of which it need not be said how many there are."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """For such a command the flags are read first, and then the words."""
        if not self.intermixed:
            return super().parse_known_args(args, namespace)
        self.intermixed = False  # it comes back here for either
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self.intermixed = True

    def error(self, message: str) -> NoReturn:
        """One cleaned line: what was typed may come from a file name or a script."""
        raise SystemExit(complain(f"{message}; see {self.prog} --help"))


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "nargs": 0})

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"stepwell {version('stepwell')}")
        parser.exit()


def module_of(command: str) -> Command:
    """What does the work of a command."""
    name = {"open": "open_", "import": "import_"}.get(command, command)
    return cast(Command, import_module(f"stepwell.commands.{name}"))


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The whole command line; `args.command` is the module to run. `only`: with the arguments of one command."""
    parser = _Parser(
        prog="stepwell",
        usage="stepwell [--dsn DSN | CONNINFO | URI] [ADDRESS | COMMAND ...]",
        description="A time-travel debugger for AI agents. Alone, it opens the list of runs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    dsn_help = "the database: a conninfo, a URI or a database's name"
    parser.add_argument("--dsn", metavar="DSN", help=dsn_help)
    parser.add_argument("--version", action=_Version, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog="stepwell")
    for name, summary, examples in COMMANDS:
        if only not in (None, name):
            commands.add_parser(name, help=summary)
            continue
        module = module_of(name)
        sub = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"{getattr(module, 'JSON_HELP', '')}\nexamples:\n  {examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(sub)
        sub.add_argument("--dsn", default=argparse.SUPPRESS, metavar="DSN", help=dsn_help)
        sub.set_defaults(command=module)
        sub.intermixed = name in _SEVERAL
    return parser


def expand(words: Sequence[str]) -> list[str]:
    """Put in what may be left out: `--dsn` before a conninfo or URI, `open` before an address or nothing.

    Flags of a command may stand before it as well. Raises UsageError for a first word that is nothing of all that.
    """
    names = {name for name, *_ in COMMANDS}
    options: list[str] = []
    own: list[str] = []
    rest = list(words)
    while rest and (rest[0].startswith("-") or _DATABASE.match(rest[0])):
        word = rest.pop(0)
        if not word.startswith("-"):
            options += ["--dsn", word]
        elif word in ("-h", "--help", "--version"):
            return [word]
        else:
            given = options if word.partition("=")[0] == "--dsn" else own
            given.append(word)
            if word in _VALUED and rest:
                given.append(rest.pop(0))
    if not rest or (rest[0] not in names and _ADDRESS.match(rest[0])):
        rest.insert(0, "open")
    elif rest[0] in names and len(rest) > 1 and re.match("postgres(ql)?://", rest[1]):
        rest.insert(1, "--dsn")
    elif rest[0] not in names:
        raise UsageError(
            f"{rest[0]!r} is neither a command ({', '.join(name for name, *_ in COMMANDS)}) nor an address"
            f" (7f3a:17, @failed); a database is named with --dsn"
        )
    return [*options, rest[0], *own, *rest[1:]]


def _command_of(words: Sequence[str]) -> str | None:
    """The command that expanded words give, None where help or the version is asked for instead."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] == "--dsn" else 1]
    return rest[0] if rest else None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit status. What goes wrong is one line on standard error, never a traceback."""
    status = _run(argv)
    for stream in (sys.stdout, sys.stderr):
        _let_go(stream)
    return status


def _let_go(stream: TextIO) -> None:
    """Flush it. Where its terminal has gone, what Python would still flush at its end has to go somewhere."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(argv: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=language_encoding(os.environ), errors="backslashreplace")
    args = argparse.Namespace(dsn=None)
    try:
        words = expand(sys.argv[1:] if argv is None else argv)
        args = build_parser(_command_of(words)).parse_args(words)
        status: int = args.command.run(args)
        if status != TERMINAL_GONE:
            sys.stdout.flush()
    except SystemExit as left:  # how argparse ends after --help and after an error
        return int(left.code or 0)
    except BrokenPipeError:
        # The reader has had enough. What Python would still flush at its end has to go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except StepwellError as problem:
        return complain(_of_database(str(problem), args), problem.exit_status)
    except psycopg.Error as problem:
        return complain(problem.diag.message_primary or str(problem))
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        return complain(f"{where}{problem.strerror or problem}")
    except UnicodeEncodeError as problem:
        # An argument that is no text in the terminal's language, which neither a database nor a name can be.
        return complain(f"{problem.object[:80]!a} is no text")
    except RecursionError:
        return complain("a value is nested too deeply to be printed")
    return status


def _of_database(text: str, args: argparse.Namespace) -> str:
    """With the database that was named in the commands that it tells of, unless a password is in that."""
    if not args.dsn:
        return text
    named = "…" if re.search("password|://[^/@]*:[^@]*@", args.dsn) else shlex.quote(args.dsn)
    return re.sub("stepwell (init|demo)", lambda found: f"{found[0]} --dsn {named}", text)


def complain(text: str, status: int = WRONG) -> int:
    """Say one line on standard error; the status."""
    with contextlib.suppress(OSError):  # nobody is there to read it
        print(f"stepwell: {clean(' '.join(text.split()))}", file=sys.stderr)
    return status
