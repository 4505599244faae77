"""`python -m stepwell.rerun.child FD`: what an `AgentProcess` starts, with the socket to it as its only argument."""

import gc
import signal
import socket
import sys


def main() -> int:
    """Be the keeper."""
    # How the debugger takes these is its own affair: whoever asks for a replay may ignore some of them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    gc.disable()  # nothing that is loaded is garbage; the keeper enables it
    # time-machine imports these wherever they are there; pytest alone takes as long as a quarter of all else.
    hidden = [name for name in ("pytest", "dateutil") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None stands for what cannot be imported
    from stepwell.rerun.child.keeper import keep
    from stepwell.rerun.child.line import Line

    for name in hidden:
        del sys.modules[name]
    return keep(Line(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    sys.exit(main())
