"""`python -m tests.benchmarks`: the figures of the README, as Markdown, each beside what it is to be measured by."""

import argparse
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg

from tests.benchmarks import (
    capture,
    harmless,
    importing,
    listing,
    moving,
    opening,
    painting,
    past,
    peers,
    production,
    prompts,
    recording,
    rerunning,
)
from tests.benchmarks.harness import Table, durable_server

BENCHMARKS: dict[str, Callable[..., Table]] = {
    "step": recording.one_caller,
    "threads": recording.many_callers,
    "peers": peers.peers,
    "prompts": prompts.prompts,
    "import": importing.imports,
    "moves": moving.moves,
    "harmless": harmless.beside_writers,
    "past": past.past,
    "look": past.looking,
    "capture": capture.capture,
    "writers": capture.writers,
    "production": production.production,
    "paint": painting.paints,
    "open": opening.opening,
    "live": opening.looking_on,
    "runs": listing.first_page,
    "rerun": rerunning.rerunning,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run all, or those that are named, and print a table each as soon as it is there."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"some of {', '.join(BENCHMARKS)}; all by default"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a few rounds on little data, to see that it runs"
    )
    parser.add_argument(
        "--folder", type=Path, help="where the server's data goes, on the disk to measure (/tmp)"
    )
    args = parser.parse_args(argv)
    if unknown := set(args.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}")
    with durable_server(args.folder) as dsn:
        print(f"{_machine(dsn)}\n", flush=True)
        for name in args.names or BENCHMARKS:
            print(BENCHMARKS[name](dsn, quick=args.quick).markdown(), flush=True)
    return 0


def _machine(dsn: str) -> str:
    with psycopg.connect(dsn) as connection:
        version = connection.info.parameter_status("server_version")
    return (
        f"Postgres {version} with fsync, Python {platform.python_version()}, {os.cpu_count()} cores,"
        f" {platform.system()} {platform.machine()}; medians, each pair timed in turns."
    )


if __name__ == "__main__":
    raise SystemExit(main())
