"""What every test stands on: no network but loopback, real data only where it lies, long tests only on request."""

import os
import socket
from collections.abc import Iterator
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
                if marker in item.keywords:
                    item.add_marker(skip)


@pytest.fixture(autouse=True)
def only_loopback(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that opens a connection to anything but this machine."""
    if "live" in request.keywords:
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
