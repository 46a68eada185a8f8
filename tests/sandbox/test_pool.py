"""Kernels in waiting: each handed out once, sealed and answered like the others, gone at the end."""

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sandbox import Limits, Sandbox
from sandbox.errors import KernelStartFailed
from sandbox.kernels.client import KernelClient
from sandbox.kernels.kernel_pool import ReadyKernel
from sandbox.record.journal import read_lines
from tests.sandbox.conftest import Opener, Told


@pytest.fixture
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox whose kernels wait."""
    sandbox = Sandbox()
    yield sandbox
    await sandbox.aclose()


async def _filled(box) -> list[int]:
    await box.pool.wait_filled()
    return [ready.kernel.process.pid for ready in box.pool.waiting]


async def test_kernels_in_waiting_are_handed_out_once_and_replaced(box, open_session: Opener):
    await open_session("P1.1.1")
    waiting = await _filled(box)
    assert len(waiting) == len(box.pool) == 2
    sessions = await asyncio.gather(*(open_session(f"P{n}.1.1") for n in range(2, 6)))
    pids = [session.kernel.process.pid for session in sessions]
    assert len(set(pids)) == 4 and set(waiting) <= set(pids)
    again = await _filled(box)
    assert len(again) == 2 and not set(again) & set(pids)
    results = await asyncio.gather(*(s.execute(f"x = {n}\nx") for n, s in enumerate(sessions)))
    assert [result.text() for result in results] == ["0", "1", "2", "3"]
    await box.aclose()
    assert len(box.pool) == 0
    assert not [pid for pid in (*again, *pids) if Path(f"/proc/{pid}").exists()]


async def test_a_kernel_in_waiting_has_run_an_empty_cell_that_leaves_no_trace(
    box, open_session: Opener, monkeypatch
):
    warmed = []
    real = KernelClient.warm_up

    async def told(self: KernelClient, timeout: float) -> None:
        await real(self, timeout)
        warmed.append(self)

    monkeypatch.setattr(KernelClient, "warm_up", told)
    await open_session("P1.1.1")
    await _filled(box)
    assert warmed == [ready.client for ready in box.pool.waiting]
    session = await open_session("P2.1.1")
    first = await session.execute("get_ipython().execution_count, [c for c in In if c]")
    fresh = await (await open_session("P3.1.1", limits=Limits(memory_mb=512))).execute(
        "get_ipython().execution_count, [c for c in In if c]"
    )
    assert first.text() == fresh.text()


async def test_a_kernel_that_does_not_warm_up_is_ended_and_not_kept(box, open_session: Opener, monkeypatch):
    ended = []

    async def stuck(self: KernelClient, timeout: float) -> None:
        raise KernelStartFailed("stuck")

    real = ReadyKernel.end

    async def end(self: ReadyKernel) -> None:
        await real(self)
        ended.append(self.kernel.process.alive)

    monkeypatch.setattr(KernelClient, "warm_up", stuck)
    monkeypatch.setattr(ReadyKernel, "end", end)
    await open_session("P1.1.1")
    await box.pool.wait_filled()
    assert len(box.pool) == 0 and ended == [False]


async def test_a_claimed_kernel_is_sealed_and_calls_its_own_session(box, open_session: Opener):
    async def api(path, params, *, cell, nth):
        return Told(data=f"for the second: {path}", meta={})

    await open_session("P1.1.1", level="namespaces")
    waiting = await _filled(box)
    session = await open_session("P2.1.1", level="namespaces", api=api)
    assert session.kernel.process.pid in waiting
    assert (await session.execute("CALL_API('x')")).text() == "'for the second: x'"
    refused = await session.execute("import socket; socket.socket(socket.AF_INET)")
    assert refused.error.ename == "PermissionError"
    assert (await session.execute("import os; os.getpid()")).text() == "1"


async def test_other_limits_and_dead_kernels_are_not_taken_from_the_pool(box, open_session: Opener):
    await open_session("P1.1.1")
    waiting = await _filled(box)
    other = await open_session("P2.1.1", limits=Limits(memory_mb=512))
    assert other.kernel.process.pid not in waiting
    dying = [os.pidfd_open(pid) for pid in waiting]
    for pid, fd in zip(waiting, dying, strict=True):
        os.kill(pid, signal.SIGKILL)
        while not select.select([fd], [], [], 0)[0]:
            await asyncio.sleep(0.01)
        os.close(fd)
    session = await open_session("P3.1.1")
    assert session.kernel.process.pid not in waiting
    assert (await session.execute("1 + 1")).text() == "2"


async def test_a_session_s_time_can_begin_at_its_cutoff(box, spec_for):
    from dataclasses import replace

    from tests.sandbox.conftest import echo

    spec = replace(spec_for(), clock=datetime(2018, 6, 30, tzinfo=UTC))
    session = await box.open(spec, echo)
    await asyncio.sleep(0.5)
    cell = """
import datetime, time
from datetime import datetime as known
import pandas as pd
times = [pd.Timestamp(time.time(), unit='s'), pd.Timestamp.now(), known.now(), datetime.datetime.utcnow(),
         pd.Timestamp(known.now(datetime.timezone.utc)).tz_localize(None), pd.Timestamp(*time.gmtime()[:6])]
late = [t for t in times if not pd.Timestamp('2018-06-30') <= t < pd.Timestamp('2018-06-30 00:05')]
print(late, datetime.date.today(), time.strftime('%Y'), isinstance(pd.Timestamp.now(), known))
"""
    assert (await session.execute(cell)).text() == "[] 2018-06-30 2018 True"
    before = await session.execute("a = time.time(); time.sleep(0.2); 0.2 <= time.time() - a < 5")
    assert before.text() == "True"
    assert read_lines(spec.journal)[0]["clock"] == "2018-06-30T00:00:00+00:00"
    true = await box.open(spec_for("P2.1.1"), echo)
    assert (await true.execute("import time; time.time() > 1.7e9")).text() == "True"
