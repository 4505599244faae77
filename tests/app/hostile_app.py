"""The debugger as a child process runs it on a real terminal; the environment says on what."""

import os
from uuid import UUID

from tests.app.stepping import DebuggerApp


def debugger() -> DebuggerApp:
    """On the run and the database that the environment names."""
    return DebuggerApp(os.environ["STEPWELL_TEST_TARGET"], UUID(os.environ["STEPWELL_TEST_RUN"]))
