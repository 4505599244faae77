"""pytest's `--stepwell-record`: tests that replay recordings record them anew, from agents that run for real."""

from __future__ import annotations

from collections.abc import Generator
from contextvars import Token
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

OPTION = "--stepwell-record"
_PROPERTY = "stepwell_recorded"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("stepwell").addoption(
        OPTION,
        action="store_true",
        help="run the agents of stepwell.replay_file for real, and write their recordings anew",
    )


def pytest_configure(config: pytest.Config) -> None:
    """What costs time to load is loaded only where it is asked for."""
    if config.getoption(OPTION):
        config.pluginmanager.register(_Anew(), "stepwell-record")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, object, object]:
    """A recorder that the module of an agent makes connects when it is used: a recording replays without Postgres."""
    from stepwell.recorder.replayed import replayed

    with replayed():
        return (yield)


class _Anew:
    """As long as this is registered, recordings are made anew."""

    def __init__(self) -> None:
        from stepwell.rerun.files import ANEW

        self._variable = ANEW
        self._told: list[str] = []
        self._token: Token[list[str] | None] = ANEW.set(self._told)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """What a test has recorded goes with its report, also out of the process of a worker."""
        try:
            return (yield)
        finally:
            item.user_properties += [(_PROPERTY, told) for told in self._told]
            self._told.clear()

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        told = [
            str(text)
            for reports in terminalreporter.stats.values()
            for report in reports
            for name, text in getattr(report, "user_properties", ())
            if name == _PROPERTY and report.when == "call"
        ]
        if told:
            terminalreporter.section("recorded anew, by calls that were made for real")
            for text in told:
                terminalreporter.line(text)

    def pytest_unconfigure(self) -> None:
        self._variable.reset(self._token)
