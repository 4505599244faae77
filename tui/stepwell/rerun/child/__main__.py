"""`python -m stepwell.rerun.child FD`: what an `AgentProcess` starts, with the socket to it as its only argument."""

import signal
import socket
import sys

from stepwell.rerun.child.keeper import keep
from stepwell.rerun.child.line import Line

if __name__ == "__main__":
    # How the debugger takes these is its own affair: whoever asks for a replay may ignore some of them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(keep(Line(socket.socket(fileno=int(sys.argv[1])))))
