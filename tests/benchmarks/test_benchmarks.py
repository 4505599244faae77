"""The benchmarks run: what they find is for people to read, and no time is asserted."""

import pytest

from tests.benchmarks.__main__ import BENCHMARKS, main


@pytest.mark.long
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_prints_a_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--quick"]) == 0
    machine, title, columns, line, *rows = [text for text in capsys.readouterr().out.splitlines() if text]
    assert machine.startswith("Postgres 18")
    assert title.startswith("### ")
    assert len(rows) > 1
    assert {text.count(" | ") for text in (columns, line, *rows)} == {line.count("---") - 1}


def test_a_name_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "no benchmark nothing" in capsys.readouterr().err
