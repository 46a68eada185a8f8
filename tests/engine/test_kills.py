"""Kill -9 at any moment: the run goes on to the same root, asks for nothing twice, and every leaf is verified."""

import asyncio
import json
import random
import sqlite3
import time
from contextlib import closing
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import sittings
from tests.fakes.asking_run import Provider, open_run, sit, undisturbed
from workbench.models.base import ModelReply, ModelRequest
from workbench.store import Store

pytestmark = pytest.mark.long

STEPS = 4


class SlowProvider(Provider):
    """Takes its time, and notes on disk what it answered: the process that it runs in will be killed."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self.log = open(log, "a", buffering=1)  # noqa: SIM115  (open until the kill)

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(random.uniform(0.005, 0.05))
        reply = self.answer(request)
        self.log.write(json.dumps([message.content for message in request.messages]) + "\n")
        return reply


def sitting(home: Path, run_id: str, log: Path, leaves: int) -> None:
    """One sitting in a process of its own, or in this one."""
    provider = SlowProvider(log)
    sittings.sitting(home, run_id, leaves=leaves, provider=provider, steps=STEPS)
    provider.log.close()


def begin(*arguments: Any) -> ForkServerProcess:
    process = sittings.context().Process(target=sitting, args=arguments)
    process.start()
    return process


@pytest.mark.parametrize(
    ("leaves", "kills"),
    # 50 in a run of a hundred leaves: `make soak`
    [(12, 6), pytest.param(100, 50, marks=pytest.mark.soak)],
)
def test_kills_at_random_moments_change_nothing(tmp_path: Path, leaves: int, kills: int) -> None:
    right = undisturbed(tmp_path / "undisturbed", leaves, steps=STEPS)
    home, log = tmp_path / "home", tmp_path / "answered"
    store = Store(home)
    run_id = open_run(store)
    store.close()
    draw = random.Random(3)
    killed = 0
    events_before = 0
    while killed < kills:
        process = begin(home, run_id, log, leaves)
        # Killed when so many events of this sitting are on the log: moments of the work, not of the interpreter's start.
        target = events_before + draw.randrange(2, 14)
        while process.is_alive() and _events(home) < target:
            time.sleep(0.002)
        done = process.exitcode
        process.kill()
        process.join()
        events_before = _events(home)
        if done is not None:
            assert done == 0
            break
        killed += 1
    sitting(home, run_id, log, leaves)
    store = Store(home)
    state = sit(store, run_id, leaves=leaves, steps=STEPS)  # finished: returns at once
    assert killed >= kills // 2 and state.finished and state.tree.root.p == right
    assert all(state.verified(leaf) for leaf in state.tree.leaves())
    addresses = store.query("SELECT node, trial, attempt, stage, step, retry FROM model_calls")
    store.close()
    assert len({tuple(row) for row in addresses}) == len(addresses) == leaves * STEPS
    # At most what was under way at a kill is asked again: nothing that had reached the ledger.
    answers = log.read_text().splitlines()
    assert len(answers) - len(set(answers)) <= killed * leaves
    assert len(set(answers)) == leaves * STEPS


def _events(home: Path) -> int:
    with closing(sqlite3.connect(home / "workbench.db", timeout=30)) as db:
        count: int = db.execute("SELECT count(*) FROM events").fetchone()[0]
    return count
