"""One client's call does not stop the server for others: bounded lists, work in threads, a time limit."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.small_run import RUN, make_small_run
from tests.mcp.clients import answer, connected
from workbench.mcp import mcp_tools


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_small_run(tmp_path)
    return tmp_path


async def test_a_list_that_is_too_long_is_refused_and_one_in_bounds_is_played(home: Path) -> None:
    def additions(count: int) -> list[dict[str, str]]:
        return [{"parent": "P0", "statement": f"x{number}"} for number in range(count)]

    async with connected(home, "2018-07-01") as client:
        good, text = await answer(client, "what_if", run=RUN, add=additions(mcp_tools.MOST_ITEMS + 1))
        assert not good and "at most 200" in text
        good, text = await answer(client, "what_if", run=RUN, set={f"P{n}": 0.1 for n in range(300)})
        assert not good and "at most 200" in text
        good, text = await answer(client, "what_if", run=RUN, set={"P1": 0.1})
        assert good, text


async def test_a_slow_call_holds_up_no_other_and_is_given_up_in_time(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(*_: Any) -> Any:
        begun.set()
        release.wait(60)
        ended.set()
        return {}

    monkeypatch.setattr(mcp_tools.Sensitivity, "answer", slow)
    monkeypatch.setitem(mcp_tools.LONGER, "sensitivity", 0.5)
    async with connected(home, "2018-07-01") as client:
        waiting = asyncio.create_task(answer(client, "sensitivity", run=RUN))
        await asyncio.to_thread(begun.wait, 60)
        good, _ = await answer(client, "list_runs")
        assert good and not ended.is_set(), "the other call waited for the slow one"
        good, text = await waiting
        assert not good and "0.5 seconds" in text and not ended.is_set()
        release.set()
