"""What a recorder was told to leave out is told in words wherever a value is shown."""

import json
import re

import pytest

import stepwell
from tests.app.stepping import Debugging, debug
from tests.commands.cases import stepwell as command


def login(user: str, password: str) -> dict[str, str]:
    return {"user": user, "token": password}


def scrub(_: str, text: str) -> str:
    return text.replace("hunter2", "[word]")


def recorded(dsn: str) -> stepwell.Run:
    with stepwell.Recorder(dsn, redact=["password", scrub]) as recorder, recorder.run("login") as run:
        run.tool(login, "ada", "hunter2")
        run.tool(str.upper, "[redacted]")
        run.state({"password": "hunter2"})
    return run


def test_panes_name_what_was_left_out_and_mark_its_place(schema_dsn: str) -> None:
    """A text that only says so is not told to be."""
    run = recorded(schema_dsn)

    async def act(debugger: Debugging) -> None:
        assert "INPUT- login; redacted: password" in debugger.text
        assert re.search(r"password +\[redacted\]|password +\"\[redacted\]\"", debugger.text)
        assert re.search(r"OUTPUT\S* \S+ \S+; redacted: token", debugger.text)
        assert "[word]" in debugger.text
        await debugger.press("n")
        assert "redacted: " not in debugger.text
        await debugger.press("n")
        assert "[redacted]" in debugger.text
        assert "hunter2" not in debugger.text

    debug(schema_dsn, run.run_id, act)


def test_show_names_what_was_left_out(schema_dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(schema_dsn)
    assert command(schema_dsn, "show", f"{run.run_id}:1") == 0
    assert "redacted password in the input; token in the output\n" in capsys.readouterr().out
    assert command(schema_dsn, "show", f"{run.run_id}:1", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["redacted"] == {"input": ["password"], "output": ["token"]}
    assert shown["input"] == {"user": "ada", "password": "[redacted]"}
    assert command(schema_dsn, "show", f"{run.run_id}:2") == 0
    assert "redacted " not in capsys.readouterr().out.replace('"[redacted]"', "")
