import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.screens import make_run


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
