"""Imported runs open and step like recorded ones."""

import json
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

from stepwell.commands.import_ import import_file
from stepwell.core.recording import run_id
from stepwell.core.world import Moment
from stepwell.replay import Replayer
from stepwell.store.connect import resolve
from tests.importers.files import file, trajectory, turn
from tests.importers.test_corpus import FILES


def opened(dsn: str, path: Path) -> Replayer:
    with psycopg.connect(dsn, autocommit=True) as connection:
        import_file(connection, path)
    return Replayer(resolve(dsn), run_id(sha256(path.read_bytes()).hexdigest(), 0))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.skipif(not FILES, reason="no corpus beside the checkout")
def test_every_step_of_a_real_recording_has_its_two_worlds(schema_dsn: str, path: Path) -> None:
    with closing(opened(schema_dsn, path)) as replayer:
        heads = replayer.heads()
        for head in heads:
            asked, after = (replayer.at(head.number, moment) for moment in (Moment.ASKED, Moment.AFTER))
            assert (asked.replay.steps, after.replay.steps) == (head.number - 1, head.number)
            assert (after.running, after.odd) == ((), {})


def test_the_state_folds_to_what_the_file_says(schema_dsn: str, tmp_path: Path) -> None:
    states: list[dict[str, object]] = [{"dir": "/", "open": None}, {"dir": "/src"}, {"x": [1, 2]}, {"x": [1]}]
    path = tmp_path / "x.traj"
    path.write_bytes(file(trajectory(*(turn(f"{n}\n", "ok", json.dumps(s)) for n, s in enumerate(states)))))
    with closing(opened(schema_dsn, path)) as replayer:
        updates = [head.number for head in replayer.heads() if head.type == "state_update"]
        assert [replayer.at(number).states for number in updates] == [{None: state} for state in states]


def test_a_call_without_an_answer_is_so_in_the_world_too(schema_dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "x.traj"
    path.write_bytes(file(trajectory(turn("a\n", "1"), turn("b\n", None), info={"exit_status": None})))
    with closing(opened(schema_dsn, path)) as replayer:
        world = replayer.at(4)
        assert world.step.in_doubt
        assert replayer.run().unanswered
        assert not replayer.run().in_doubt
        assert world.last[None].result == 2
