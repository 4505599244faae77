"""The flags that say how an agent's own code is replayed, of every command that does."""

import argparse

from stepwell.errors import UsageError

FLAGS = ("python", "pure", "timeout", "memory")
"""Those that mean nothing without `--agent`."""
MOST_MEMORY = 1 << 28
"""In MB: more than an address of 48 bits can name."""


def add_agent(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """`--agent` and what goes with it; the group, for more of the kind."""
    group = parser.add_argument_group("through the agent's own code")
    group.add_argument(
        "--agent",
        metavar="NAME",
        help="package.module:callable, found from the current folder: it gets the run as when it was recorded,"
        " its models and tools answer from the recording",
    )
    group.add_argument(
        "--python", metavar="PATH", help="an interpreter, or the folder of a virtual environment"
    )
    group.add_argument(
        "--pure", metavar="TOOL", action="append", help="execute this tool again; can be given several times"
    )
    group.add_argument("--timeout", metavar="S", type=float, help="seconds that it may take, 30 by default")
    group.add_argument("--memory", metavar="MB", type=int, help="address space that it may have")
    return group


def refuse_without(args: argparse.Namespace, flags: tuple[str, ...] = FLAGS) -> None:
    """Raises UsageError for a flag that goes only with `--agent`."""
    for name in flags:
        if (given := getattr(args, name)) is not None and given is not False:
            raise UsageError(f"--{name} goes with --agent package.module:callable")


def memory_of(args: argparse.Namespace) -> int | None:
    """`--memory` in bytes. Raises UsageError for what is no size of an address space."""
    if args.memory is not None and not 0 < args.memory <= MOST_MEMORY:
        raise UsageError(f"--memory is a number of MB from 1 to {MOST_MEMORY}, not {args.memory}")
    return None if args.memory is None else args.memory << 20
