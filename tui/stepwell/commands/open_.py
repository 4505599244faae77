"""`stepwell [ADDRESS]`: the debugger, at the list of runs or at an address."""

import argparse

from stepwell.commands.session import address_of, target_of
from stepwell.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "address", nargs="?", metavar="ADDRESS", help="RUN, RUN:17, @failed, @last; the runs by default"
    )
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="package.module:callable, found from the current folder: its code is replayed to each step",
    )
    parser.add_argument("--python", metavar="PATH", help="an interpreter, or a virtual environment, for it")
    parser.add_argument(
        "--pure", metavar="TOOL", action="append", help="execute this tool again; can be given several times"
    )


def run(args: argparse.Namespace) -> int:
    """Open the app and stay until it is left. Raises NotFoundError, UsageError, DatabaseError."""
    if args.address is not None:
        address_of(args.address)
    if args.agent is None and (args.python is not None or args.pure is not None):
        raise UsageError("--python and --pure go with --agent package.module:callable")
    target = target_of(args)
    from stepwell.app import open_app  # loads Textual, which no other command needs
    from stepwell.app.rerun import Agent

    agent = None if args.agent is None else Agent(args.agent, args.python, tuple(args.pure or ()))
    return open_app(target, args.address, agent)
