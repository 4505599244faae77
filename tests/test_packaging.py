"""What is shipped works where no checkout is: the wheel, and the sdist that others build theirs from."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from stepwell.store.queries import query_names, schema_files, sql_folder

CHECKOUT = Path(__file__).parents[1]
LOAD = """
import json, stepwell, stepwell.cli, stepwell.recorder, stepwell.replay
from stepwell.store import queries
print(json.dumps([
    stepwell.__path__[0],
    {name: len(queries.query(name)) for name in queries.query_names()},
    [[version, len(text)] for version, text in queries.schema_files()],
]))
"""


def run(*argv: str | Path, cwd: Path) -> str:
    """Run a command away from the checkout, without what the tests' environment points at it; its output."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_REQUIRE"))
    }
    done = subprocess.run(
        [str(word) for word in argv], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Built:
    sdist: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The sdist, and the wheel made of it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, CHECKOUT, cwd=folder)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean virtual environment with one of the two installed; its folder.

    The packages that Stepwell needs are lent by the environment of the tests, so nothing is downloaded.
    """
    folder = tmp_path_factory.mktemp(request.param)
    venv = folder / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=folder)
    file: Path = getattr(built, request.param)
    pip = (sys.executable, "-m", "pip", "--python", venv / "bin/python", "install", "--no-index", "--no-deps")
    lent = site_packages(venv) / "lent.pth"
    if request.param == "sdist":
        run(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-index",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            file,
            cwd=folder,
        )
        (file,) = folder.glob("*.whl")
    run(*pip, file, cwd=folder)
    # A folder that is only named has its own .pth files ignored, the editable install's among them.
    lent.write_text(sysconfig.get_path("purelib") + "\n")
    return venv


def site_packages(venv: Path) -> Path:
    (folder,) = venv.glob("lib/python*/site-packages")
    return folder


def test_every_query_loads_from_the_installed_package(installed: Path, tmp_path: Path) -> None:
    place, queries, schema = json.loads(run(installed / "bin/python", "-c", LOAD, cwd=tmp_path))
    folder = sql_folder()
    assert Path(place).is_relative_to(installed)
    assert sorted(queries) == query_names()
    assert queries == {name: len((folder / "queries" / f"{name}.sql").read_bytes()) for name in queries}
    assert schema == [[version, len(text)] for version, text in schema_files()]


def test_the_command_runs(installed: Path, tmp_path: Path) -> None:
    said = run(installed / "bin/stepwell", "--version", cwd=tmp_path)
    assert said.split()[0] == "stepwell"
    assert said.split()[1][0].isdigit()


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"stepwell"}
    assert {"stepwell/py.typed", "stepwell/sql/roles.sql", "stepwell/sql/schema/0001_agent_steps.sql"} <= set(
        names
    )
    assert [name for name in names if "__pycache__" in name or "/tests/" in name] == []
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_holds_what_is_needed_to_test_it(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "Makefile",
        "sql/roles.sql",
        "tests/conftest.py",
    } <= names
    assert not any(part.startswith(".venv") for name in names for part in name.split("/"))
