"""Eight hostile writers on tables of every kind: what is called exact must be so to the last digit."""

import pytest

from tests.asof.__main__ import main
from tests.asof.siege import Outcome, besiege


def test_every_snapshot_is_shown_as_it_was_seen_while_hostile_writers_go_on(dsn: str) -> None:
    outcome = besiege(dsn, seed=1, snapshots=24)
    _assert_right(outcome)
    # A partition that is added between a snapshot and its reading is told, and read again by who meets it.
    assert not [doubt for doubt in +outcome.tally.doubted if not doubt.endswith("ask again")]
    assert outcome.committed > 20


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_nothing_wrong_is_called_exact_while_the_owner_rewrites_and_empties_tables(
    dsn: str, seed: int
) -> None:
    _assert_right(besiege(dsn, seed=seed, snapshots=60, rewriting=True))


@pytest.mark.long
def test_the_whole_proof_runs_by_one_command(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--snapshots", "40", "--round", "40", "--dsn", server]) == 0
    assert "| typed |" in capsys.readouterr().out


def _assert_right(outcome: Outcome) -> None:
    assert not outcome.tally.faults, "\n".join(outcome.tally.faults[:5])
    assert all(outcome.tally.compared.values())
    assert not outcome.unfolded, "\n".join(outcome.unfolded[:5])
    assert outcome.folded
