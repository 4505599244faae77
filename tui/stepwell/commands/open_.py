"""`stepwell [ADDRESS]`: the debugger, at the list of runs or at an address."""

import argparse

from stepwell.commands.agents import add_agent, memory_of, refuse_without
from stepwell.commands.session import address_of, target_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "address", nargs="?", metavar="ADDRESS", help="RUN, RUN:17, @failed, @last; the runs by default"
    )
    add_agent(parser)


def run(args: argparse.Namespace) -> int:
    """Open the app and stay until it is left. Raises NotFoundError, UsageError, DatabaseError."""
    if args.address is not None:
        address_of(args.address)
    if args.agent is None:
        refuse_without(args)
    target = target_of(args)
    from stepwell.app import open_app  # loads Textual, which no other command needs
    from stepwell.app.rerun import Agent

    agent = None
    if args.agent is not None:
        agent = Agent(args.agent, args.python, tuple(args.pure or ()), args.timeout, memory_of(args))
    return open_app(target, args.address, agent)
