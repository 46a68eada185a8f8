"""What every test stands on: no network but loopback, real data only where it lies, long tests only on request."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_LOOPBACK = {"127.0.0.1", "::1", "localhost", "0.0.0.0", "::"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long tests too")
    parser.addoption("--live", action="store_true", help="run the tests that talk to real providers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for marker in ("soak", "live"):
        if not config.getoption(f"--{marker}"):
            skip = pytest.mark.skip(reason=f"needs --{marker}")
            for item in items:
                if item.get_closest_marker(marker) is not None:
                    item.add_marker(skip)


@pytest.fixture(autouse=True)
def only_loopback(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that opens a connection to anything but this machine."""
    if request.node.get_closest_marker("live") is not None:
        yield
        return
    real_connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in _LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}: the suite is offline")
        real_connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    yield


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Folder of real data (``WORKBENCH_TEST_DATA``, else ``../shared/data`` beside the checkout), or a skip."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA") or default)
    if not folder.is_dir():
        pytest.skip("no real data: set WORKBENCH_TEST_DATA")
    return folder


def run_cli(
    home: Path, *arguments: str, timeout: float = 280, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run ``workbench`` as a person would, in a process and a home of its own, without any key of this machine."""
    return subprocess.run(
        [sys.executable, "-m", "workbench.cli.main", *arguments],
        env=cli_environment(home, **environment),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def cli_environment(home: Path, **environment: str) -> dict[str, str]:
    """The environment of :func:`run_cli`."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "WORKBENCH_HOME": str(home / "home"), **environment}


@dataclass(frozen=True)
class FinishedRun:
    """A run that was made once for the whole test session: look at it, do not change it."""

    home: Path
    document: dict[str, Any]
    stderr: str

    @property
    def run_id(self) -> str:
        return str(self.document["run_id"])

    @property
    def folder(self) -> Path:
        return self.home / "home" / "runs" / self.run_id

    def node(self, node: str) -> dict[str, Any]:
        return next(item for item in self.document["nodes"] if item["id"] == node)

    @property
    def leaves(self) -> list[dict[str, Any]]:
        inner = {item["parent"] for item in self.document["nodes"]}
        return [item for item in self.document["nodes"] if item["id"] not in inner]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """The demo's claim, run through the command line in sealed kernels."""
    home = tmp_path_factory.mktemp("demo")
    done = run_cli(
        home,
        "analyze",
        "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
        "--cutoff",
        "2018-06-30",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    return FinishedRun(home, json.loads(done.stdout), done.stderr)
