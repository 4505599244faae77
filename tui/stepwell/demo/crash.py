"""Records a run that never ends: the mail server does not answer, and whoever started this process kills it.

Run as `python -m stepwell.demo.crash` with the conninfo on standard input (not among the arguments, which
every user of the machine can read). Says `sending` once it hangs within `send_email`.
"""

import sys
import time
from typing import Any

import stepwell
from stepwell.demo import shop
from stepwell.demo.agent import triage

TICKET = "My lamps of order 8102 and of order 8210 both came broken, please refund them. (customer 42)"
HANGS = "sending"


def send_email(to: str, subject: str, body: str) -> dict[str, Any]:  # noqa: ARG001 - it hangs before it reads them
    """A mail server that takes the connection and never answers."""
    sys.stdout.write(f"{HANGS}\n")
    sys.stdout.flush()
    time.sleep(60)
    raise TimeoutError("no answer from mail.example.org in 60 s")


def main() -> None:
    """Record until killed."""
    recorder = stepwell.Recorder(sys.stdin.readline().rstrip("\n"))
    with recorder.run("refund-triage", tags={"demo": 1, "story": "crash"}) as run:
        triage(run, TICKET, {**shop.TOOLS, "send_email": send_email})


if __name__ == "__main__":
    main()
