"""`stepwell import FILE…`, end to end."""

import argparse
import io
import json
from pathlib import Path

import psycopg
import pytest

from stepwell.commands import import_
from tests.importers.files import answer, asks, call, file, lines, text, trajectory, turn
from tests.importers.test_corpus import FILES

CHAT = file([text("user", "?"), asks(call("find", '{"q": 1}', "c")), answer("none", "c")])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(dsn: str, *arguments: object) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dsn")
    import_.add_arguments(parser)
    return import_.run(parser.parse_args(["--dsn", dsn, *map(str, arguments)]))


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_one_line_says_what_came_of_a_file(
    schema_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "x.jsonl", lines([text("assistant", "a")], [text("assistant", "b")]))
    assert run(schema_dsn, path) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"imported 2 runs, 2 steps from {path} (chat-completions): ")
    with psycopg.connect(schema_dsn) as connection:
        ids = [str(row[0])[:8] for row in connection.execute("SELECT run_id FROM agent_runs")]
    assert sorted(out.split(": ")[1].split()) == sorted(ids)


def test_the_second_time_it_is_already_there(
    schema_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "x.json", CHAT)
    copy = write(tmp_path, "copy.txt", CHAT)
    assert run(schema_dsn, path, copy) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"imported 1 run, 2 steps from {path} (chat-completions): ")
    assert second == f"already there: {copy} (chat-completions): {first[-8:]}"


def test_a_bad_file_is_named_and_the_others_are_imported(
    schema_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = write(tmp_path, "bad.json", b'[{"role": "user"')
    good = write(tmp_path, "good.json", file(trajectory(turn("ls\n", "a"))))
    assert run(schema_dsn, bad, good) == 2
    said = capsys.readouterr()
    assert said.err == f"stepwell: {bad}: line 1, column 17: not JSON: Expecting ',' delimiter\n"
    assert said.out.startswith("imported 1 run, 2 steps")


def test_files_that_cannot_be_read_are_named_with_the_cause(
    schema_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "no\x1b[2Jne.json"
    assert run(schema_dsn, missing, tmp_path) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"stepwell: {tmp_path}/no\\x1b[2Jne.json: no such file",
        f"stepwell: {tmp_path}: a directory; name the files in it",
    ]


def test_for_programs_each_file_is_an_object_on_a_line(
    schema_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = write(tmp_path, "good.json", CHAT), write(tmp_path, "bad.json", b"")
    assert run(schema_dsn, "--json", good, good, bad) == 2
    first, again, broken = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {
        "file": str(good),
        "format": "chat-completions",
        "imported": first["imported"],
        "already_there": [],
        "steps": 2,
        "error": None,
    }
    assert (again["imported"], again["already_there"], again["steps"]) == ([], first["imported"], 0)
    assert (broken["format"], broken["error"]) == (None, f"{bad}: the file is empty")


def test_a_value_nested_too_deeply_to_store_is_told_of_its_file(
    schema_dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = b'[{"role": "assistant", "content": ' + b"[" * 300 + b"]" * 300 + b"}]"
    path = write(tmp_path, "deep.json", data)
    assert run(schema_dsn, path) == 2
    assert capsys.readouterr().err == f"stepwell: {path}: nested more than 200 levels deep\n"


def test_a_hundred_levels_are_no_trouble(schema_dsn: str, tmp_path: Path) -> None:
    data = b'[{"role": "assistant", "content": ' + b"[" * 190 + b"]" * 190 + b"}]"
    assert run(schema_dsn, write(tmp_path, "deep.json", data)) == 0


def test_a_terminal_sees_a_counter_only_after_a_moment_and_nothing_is_left_of_it() -> None:
    times = iter([0.0, 0.4, 0.6, 0.65, 9.0])
    stream = Terminal()
    progress = import_.Progress(stream, "x\x1b.json", 4, clock=lambda: next(times))
    for _ in range(4):
        progress.step()
    progress.clear()
    shown = [part.rstrip() for part in stream.getvalue().split("\r")]
    assert shown == ["", "x\\x1b.json: 2/4 steps 50%", "x\\x1b.json: 4/4 steps 100%", "", ""]


def test_no_terminal_sees_no_counter() -> None:
    stream = io.StringIO()
    progress = import_.Progress(stream, "x", 1)
    progress.step()
    progress.clear()
    assert stream.getvalue() == ""


@pytest.mark.skipif(not FILES, reason="no corpus beside the checkout")
def test_every_file_of_the_corpus_is_stored_once(schema_dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(schema_dsn, *FILES, *FILES) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["imported"] * len(FILES) + ["already"] * len(FILES)
