"""What was paid for is on disk before it is used, a call's record before it is sent, an event before it is shown."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes.asking_run import AskingGrounder, Provider, open_run, work
from workbench.agents.base import LeafTask
from workbench.models.base import ModelReply, ModelRequest
from workbench.store import Store, StoredEvent

LEAVES = 12


def count(home: Path, sql: str, *values: object) -> int:
    """What a process sees that is begun now, after a kill of this one."""
    with closing(sqlite3.connect(home / "workbench.db", timeout=30)) as db:
        number: int = db.execute(f"SELECT count(*) FROM {sql}", values).fetchone()[0]
    return number


class Watching(Provider):
    """Looks, before it answers, for the record of the call and for what its dialogue has bought before."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self.home = home

    async def complete(self, request: ModelRequest) -> ModelReply:
        node = request.nodes[0].id
        asked = count(self.home, "events WHERE kind = 'call.asked' AND node = ?", node)
        step = len(request.messages) - 1
        assert asked == step + 1
        await asyncio.sleep(0.001)
        return self.answer(request)


class Looking(AskingGrounder):
    """Looks for each reply on disk when it gets it."""

    def __init__(self, home: Path) -> None:
        super().__init__(3)
        self.home = home

    async def ground(self, task: LeafTask) -> Any:
        ask = task.ask

        async def looked(request: ModelRequest, **place: Any) -> ModelReply:
            reply = await ask(request, **place)
            where = "model_calls WHERE node = ? AND step = ?"
            assert count(self.home, where, task.node.id, place["step"]) == 1
            return reply

        return await super().ground(replace(task, ask=looked))


def test_nothing_is_sent_used_or_shown_before_it_is_on_disk(store: Store, tmp_path: Path) -> None:
    run_id = open_run(store)
    shown: list[int] = []

    def listener(state: Any, stored: StoredEvent) -> None:
        assert count(tmp_path, "events WHERE seq = ? AND kind = ?", stored.seq, stored.event.kind) == 1
        assert state.seq == stored.seq
        shown.append(stored.seq)

    grounder = Looking(tmp_path)
    state = asyncio.run(
        work(store, run_id, Watching(tmp_path), leaves=LEAVES, grounder=grounder, listener=listener)
    )
    assert state.finished and shown == sorted(shown)
    kinds = ("call.asked", "call.unbilled", "run.started")
    rows = [stored for stored in store.events(run_id) if stored.event.kind not in kinds]
    assert [stored.seq for stored in rows] == shown and state.seq == shown[-1]
