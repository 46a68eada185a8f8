"""A disk that is full in the middle of a run: asking ends at the first failed write, and no reply is bought twice."""

import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.asking_run import open_run, sit
from tests.fakes.loopback import Quiet, serving
from tests.fakes.openai_server import completion
from workbench.models.registry import open_model
from workbench.resources import ResourceStop
from workbench.store import Store, StoreFull
from workbench.store import database as database_module
from workbench.store import writer as writer_module

LEAVES, STEPS = 5, 3


class LoggingModel(Quiet):
    """Answers at random speed; every request that came is kept, with when it came."""

    asked: ClassVar[list[tuple[str, float]]] = []
    pause = 0.01
    text = "so it is said."

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = json.dumps([turn["content"] for turn in body["messages"]])
        self.asked.append((key, time.monotonic()))
        time.sleep(self.pause * (1 + hash(key) % 7))
        data = json.dumps(completion(self.text)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Disk:
    """The room that commits find: none from one of them on, until what was set aside is let go of."""

    def __init__(self, moment: int) -> None:
        self.left = moment
        self.failed_at = 0.0
        self.aside: list[Any] = []
        self._lock = threading.Lock()

    def commit(self) -> None:
        with self._lock:
            self.left -= 1
            if self.left > 0 or (self.aside and all(file.closed for file in self.aside)):
                return
            self.failed_at = self.failed_at or time.monotonic()
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error


@contextmanager
def full_from(moment: int) -> Iterator[Disk]:
    """Let every commit of a run's writer fail from one of them on, as a full disk does."""
    disk = Disk(moment)

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
            if sql == "COMMIT" and disk.aside:
                disk.commit()
            return super().execute(sql, *arguments)

    made = writer_module.tempfile.TemporaryFile

    def temporary(**options: Any) -> Any:
        disk.aside.append(made(**options))
        return disk.aside[-1]

    with (
        patch.object(database_module.sqlite3, "connect", partial(sqlite3.connect, factory=Connection)),
        patch.object(writer_module.tempfile, "TemporaryFile", temporary),
    ):
        yield disk


def sitting(store: Store, run_id: str, url: str) -> Any:
    model = open_model("openai/x", api_base=url, api_key="sk-none")
    return sit(store, run_id, model, leaves=LEAVES, steps=STEPS)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moment=st.integers(1, 45), concurrency=st.integers(1, 8))
def test_a_full_disk_ends_the_asking_and_no_reply_is_bought_twice(
    tmp_path_factory: pytest.TempPathFactory, moment: int, concurrency: int
) -> None:
    home = tmp_path_factory.mktemp("home")
    handler = type("Handler", (LoggingModel,), {"asked": []})
    with serving(handler) as address, closing(Store(home)) as store:
        url = f"{address}/v1"
        run_id = open_run(store, concurrency=concurrency)
        with full_from(moment) as disk:
            try:
                sitting(store, run_id, url)
            except (StoreFull, ResourceStop) as stop:
                assert stop.exit_code == 3 and "\n" not in str(stop) and "full" in str(stop)
                # What was put on record before the write failed may be sent after it.
                late = [when for _, when in handler.asked if when > disk.failed_at]
                assert len(late) <= concurrency
            else:
                assert not disk.failed_at
        assert sitting(store, run_id, url).finished
    asked = Counter(key for key, _ in handler.asked)
    assert len(asked) == LEAVES * STEPS and set(asked.values()) == {1}, asked
