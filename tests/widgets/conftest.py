import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.fakes.screens import RUN, make_run
from workbench.views.run_view import load_run
from workbench.widgets.run_page import Dashboard


class FakeComm:
    """Keeps what the widget sends and hands back what a browser would."""

    def __init__(self, comm_id: str | None = None, **_: Any) -> None:
        self.comm_id = comm_id or uuid.uuid4().hex
        self.sent: list[dict[str, Any]] = []
        self._receive: Callable[[dict[str, Any]], None] | None = None

    def on_msg(self, callback: Callable[[dict[str, Any]], None]) -> None:
        self._receive = callback

    def on_close(self, callback: Any) -> None: ...

    def send(self, data: dict[str, Any], metadata: Any = None, buffers: Any = None) -> None:
        self.sent.append(data)

    def close(self, *_: Any, **__: Any) -> None: ...

    def deliver(self, content: Any) -> None:
        """What ``model.send(content)`` does in the browser."""
        assert self._receive is not None
        data = {"method": "custom", "content": content}
        message = {"content": {"comm_id": self.comm_id, "data": data}, "buffers": []}
        self._receive(message)

    def deliver_state(self, **state: Any) -> None:
        """What ``model.set(...); model.save_changes()`` does in the browser."""
        assert self._receive is not None
        self._receive(
            {"content": {"data": {"method": "update", "state": state, "buffer_paths": []}}, "buffers": []}
        )

    @property
    def custom(self) -> list[Any]:
        return [data["content"] for data in self.sent if data["method"] == "custom"]

    @property
    def updates(self) -> list[dict[str, Any]]:
        return [data["state"] for data in self.sent if data["method"] == "update"]


@pytest.fixture(autouse=True)
def comms(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeComm]]:
    """Every comm that a widget opens in this test."""
    import comm

    opened: list[FakeComm] = []

    def create(**kwargs: Any) -> FakeComm:
        opened.append(FakeComm(**kwargs))
        return opened[-1]

    monkeypatch.setattr(comm, "create_comm", create)
    yield opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder with one finished run."""
    make_run(tmp_path)
    return tmp_path


@pytest.fixture
def command_home(tmp_path: Path) -> Path:
    """The folder that ``run_cli`` takes, with such a data folder in it."""
    make_run(tmp_path / "home")
    return tmp_path


@pytest.fixture
def analysis(home: Path, monkeypatch: pytest.MonkeyPatch) -> wb.Analysis:
    """The run as a notebook has it."""
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    return wb.open_run(RUN)


@pytest.fixture
def board(home: Path) -> Dashboard:
    """The run's page."""
    return Dashboard(load_run(home, RUN))
