"""Ten processes on one run: one works on it, the others hear who does, and the database stays whole."""

import asyncio
import fcntl
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import sittings
from tests.fakes.asking_run import Provider, open_run, undisturbed
from workbench.engine.ownership import LOCK_NAME, RunInWork, own_folder
from workbench.engine.record.fold import load_state
from workbench.models.base import ModelReply, ModelRequest
from workbench.store import Store

pytestmark = pytest.mark.long

LEAVES = 3


class Gate(Provider):
    """Answers when everybody has tried: whoever works on the run holds it until then."""

    def __init__(self, everybody: Any) -> None:
        super().__init__()
        self.everybody = everybody

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.to_thread(self.everybody.wait, 120)
        return self.answer(request)


def _work(home: Path, run_id: str, barrier: Any, left: Any, everybody: Any, results: Any) -> None:
    barrier.wait()
    try:
        sittings.sitting(home, run_id, leaves=LEAVES, provider=Gate(everybody))
        results.put(("done", ""))
    except RunInWork as error:
        results.put((f"exit {error.exit_code}", str(error)))
        with left.get_lock():
            left.value -= 1
            if left.value == 0:
                everybody.set()


def _ten(home: Path, run_id: str) -> list[tuple[str, str]]:
    forks = sittings.context()
    barrier, results, everybody = forks.Barrier(10), forks.Queue(), forks.Event()
    left = forks.Value("i", 9)
    arguments = (home, run_id, barrier, left, everybody, results)
    people = [forks.Process(target=_work, args=arguments) for _ in range(10)]
    for person in people:
        person.start()
    ended = sorted(results.get(timeout=120) for _ in people)
    for person in people:
        person.join()
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    return ended


def test_ten_processes_on_one_run(tmp_path: Path) -> None:
    right = undisturbed(tmp_path / "undisturbed", LEAVES)
    store = Store(tmp_path / "home")
    run_id = open_run(store)
    ended = _ten(store.home, run_id)
    assert [kind for kind, _ in ended] == ["done"] + ["exit 2"] * 9
    assert all("is running: process" in line and "\n" not in line for _, line in ended[1:])
    state = load_state(store, run_id)
    assert state.finished and state.tree.root.p == right
    assert len(store.events(run_id, kinds=("leaf.grounded",))) == LEAVES
    store.close()


def test_a_holder_that_has_not_said_who_it_is_is_waited_for(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / LOCK_NAME, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    says = threading.Timer(
        0.1, os.pwrite, (descriptor, b'{"pid": 7, "since_utc": "2026-01-01", "host": "h"}', 0)
    )
    says.start()
    with pytest.raises(RunInWork, match="it is running: process 7"), own_folder(tmp_path, what="it"):
        pass
    says.join()
    os.close(descriptor)
