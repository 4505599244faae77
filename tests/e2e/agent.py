"""An agent that is alive: records a step for every line of its standard input; one called "hang" never ends.

Run as a script by the tests.
"""

import sys
import time

import stepwell


def look_up(question: str) -> str:
    if question == "hang":
        print("hanging", flush=True)
        time.sleep(600)
    return f"{question}: found"


def main() -> None:
    with stepwell.Recorder(sys.argv[1]) as recorder, recorder.run("live-triage") as run:
        for line in sys.stdin:
            run.tool(look_up, line.strip())
            print("recorded", flush=True)


if __name__ == "__main__":
    main()
