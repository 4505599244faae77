"""A value of 200 MB: left alone on the way past it, and printed whole in a few times its memory."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.store.rows import add_run, run_id

pytestmark = pytest.mark.long

SIZE = 200_000_000
REPORT = """
import re, sys
def report():
    # ru_maxrss would be that of the process which began this one, if that was larger.
    with open("/proc/self/status") as status:
        print(int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) // 1024, file=sys.stderr)
"""
MEASURED = """
import sys
from stepwell.cli import main
status = main(sys.argv[1:])
report()
sys.exit(status)
"""
PAST_IT = """
import sys
from uuid import UUID
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
replayer = Replayer(resolve(sys.argv[1]), UUID(sys.argv[2]))
payload = replayer.at(1).payload
assert payload.output is None and payload.output_unread > 4_000_000, payload.output_unread
replayer.close()
report()
"""


def megabytes(code: str, *args: str, output: Path) -> int:
    """Run Python code in a process of its own; the most memory that it took."""
    with output.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", REPORT + code, *args],
            stdout=file,
            stderr=subprocess.PIPE,
            env=os.environ,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1])


def test_a_value_of_200_megabytes_is_passed_by_and_printed(schema_dsn: str, tmp_path: Path) -> None:
    run = add_run(schema_dsn, run_id(0xB16), steps=1, finished=1, status="ok")
    with psycopg.connect(schema_dsn) as connection:
        # Text that does not compress to nothing, put together by the server.
        connection.execute(
            "INSERT INTO agent_steps (run_id, step_number, step_type, input, output)"
            " SELECT %s, 1, 'tool_call', '{}', to_jsonb(repeat(string_agg(md5(n::text), ' '), %s))"
            " FROM generate_series(1, 3030) AS n",
            [run, SIZE // 100_000],
        )
    printed = tmp_path / "printed"
    assert megabytes(PAST_IT, schema_dsn, str(run), output=printed) < 150
    assert (
        megabytes(MEASURED, "show", f"{run}:1:$.output", "--dsn", schema_dsn, output=printed) < 6 * SIZE >> 20
    )
    assert printed.stat().st_size > SIZE * 0.99
