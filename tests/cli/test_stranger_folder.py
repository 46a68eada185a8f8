"""`workbench lab` and `serve`, started in a folder of a stranger's, run nothing that lies there.

Each hostile file writes a marker when it is run; where nothing stops it, it is shown to.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import cli_environment
from workbench.cli.servers.lab import lab

pytestmark = pytest.mark.long

#: What Python, Jupyter, Voila and matplotlib look for by name, as modules or as settings that are programs.
NAMES = (
    "jupyterlab",
    "ipykernel_launcher",
    "sitecustomize",
    "usercustomize",
    "voila",
    "jupyter_config",
    "jupyter_server_config",
    "jupyter_lab_config",
    "jupyter_notebook_config",
    "ipython_config",
    "ipython_kernel_config",
    "json",
    "tornado",
)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    (tmp_path / "markers").mkdir()
    for name in NAMES:
        marker = tmp_path / "markers" / name
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    (folder / ".jupyter").mkdir()
    shutil.copy(folder / "jupyter_config.py", folder / ".jupyter" / "jupyter_server_config.py")
    return folder


def _markers(clone: Path) -> set[str]:
    return {path.name for path in (clone.parent / "markers").iterdir()}


def _environment(clone: Path) -> dict[str, str]:
    return {**cli_environment(clone.parent), "JUPYTER_TOKEN": "t" * 32, "PYTHONNOUSERSITE": "1"}


@pytest.mark.parametrize(
    ("program", "marker"),
    [
        (("-m", "jupyterlab", "--version"), "jupyterlab"),
        (("-P", "-c", "from voila.server_extension import load_config_file as load; load()"), "voila"),
    ],
    ids=["module of the current folder", "Voila's extension"],
)
def test_the_files_run_where_nothing_stops_them(clone: Path, program: tuple[str, ...], marker: str) -> None:
    subprocess.run(
        [sys.executable, *program], cwd=clone, env=_environment(clone), capture_output=True, timeout=120
    )
    assert marker in _markers(clone)


@pytest.fixture
def command(clone: Path, request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    program = "from workbench.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-P", "-c", program, *request.param],
        cwd=clone,
        env=_environment(clone),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize(
    ("command", "ready"),
    [(("lab", "--no-browser"), "http://127.0.0.1"), (("serve",), "http://127.0.0.1")],
    ids=["lab", "serve"],
    indirect=["command"],
)
def test_a_screen_runs_nothing_of_the_folder_that_it_is_started_in(
    command: "subprocess.Popen[str]", ready: str, clone: Path
) -> None:
    pytest.importorskip("jupyterlab")
    assert command.stdout is not None
    lines = []
    for line in command.stdout:
        lines.append(line)
        if ready in line:
            break
    assert ready in "".join(lines[-1:]), "".join(lines)
    time.sleep(1)  # extensions that begin their work when the server is up
    assert _markers(clone) == set()
    assert os.readlink(f"/proc/{command.pid}/cwd") == "/"


def test_jupyterlab_gets_the_data_folder_whatever_folder_it_runs_in(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[list[str], dict[str, str], str]] = []
    monkeypatch.setattr("os.execve", lambda path, words, env: started.append((words, env, os.getcwd())))
    monkeypatch.setenv("WORKBENCH_HOME", "relative/home")
    monkeypatch.chdir(clone)
    lab(port=None, browser=False)
    ((words, environment, folder),) = started
    home = str(clone / "relative" / "home")
    assert f"--ServerApp.root_dir={home}" in words and environment["WORKBENCH_HOME"] == home and folder == "/"
