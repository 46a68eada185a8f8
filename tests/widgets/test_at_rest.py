"""Work at rest lets messages through: those of a loop by several turns, and those of a real kernel by its shell channel."""

import asyncio
import itertools
import json
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from tests.fakes.screens import RUN, make_run
from workbench.steps import Steps
from workbench.widgets import at_rest
from workbench.widgets.at_rest import AtRest


def working(pieces: list[int], seconds: float = 0.0) -> Steps[None]:
    for number in range(200):
        time.sleep(seconds)
        pieces.append(number)
        yield


async def test_a_message_that_takes_several_turns_of_the_loop_waits_for_no_piece_at_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(at_rest, "_PIECE_SECONDS", 0.0)
    pieces: list[int] = []
    resting = AtRest(threading.RLock(), lambda: True)
    resting.do("part", lambda: working(pieces, 0.001))
    loop, between, turns = asyncio.get_running_loop(), [], 6

    def turn(left: int, begun: int) -> None:
        if left:
            loop.call_soon(turn, left - 1, begun)
        else:
            between.append(len(pieces) - begun)

    for _ in range(20):
        loop.call_soon_threadsafe(lambda: turn(turns, len(pieces)))
        await asyncio.sleep(0.004)
    assert 20 < len(pieces) < 200 and len(between) == 20
    # A gap is time: where the machine is busy with others, one may be over before the last turn.
    assert sum(between) <= 10, between
    resting._works.clear()


async def test_a_piece_ends_after_its_time_and_the_parts_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(at_rest, "_PIECE_SECONDS", 5)
    monkeypatch.setattr(at_rest, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    first: list[int] = []
    second: list[int] = []
    resting = AtRest(threading.RLock(), lambda: True)
    resting.do("first", lambda: working(first))
    resting.do("second", lambda: working(second))
    resting.do("second", lambda: pytest.fail("it is under way"))
    resting._piece(resting._due)
    assert (len(first), len(second)) == (3, 2)
    resting._works.clear()


def test_without_a_loop_work_is_done_at_once_and_work_of_a_loop_is_left_to_it() -> None:
    pieces: list[int] = []
    resting = AtRest(threading.RLock(), lambda: True)
    resting.do("part", lambda: working(pieces))
    assert len(pieces) == 200

    async def begin() -> None:
        resting.do("part", lambda: working(pieces))
        beside = threading.Thread(target=lambda: resting.do("other", lambda: working(pieces)))
        beside.start()
        beside.join()

    asyncio.run(begin())
    assert len(pieces) == 200
    resting.go_on()  # the loop is no more
    assert len(pieces) == 600


_PAGE = """
from workbench.widgets import at_rest
from workbench.widgets.home_page import open_dashboard
at_rest._PIECE_SECONDS = 0.0
page = open_dashboard({environ!r})
happened = []
work, act = at_rest.AtRest._work_until, page.tree._on_message
def worked(self, end):
    work(self, end)
    happened.append("piece")
def acted(widget, content, buffers):
    act(widget, content, buffers)
    happened.append(content["type"])
at_rest.AtRest._work_until = worked
page.tree.on_msg(page.tree._on_message, remove=True)
page.tree.on_msg(acted)
"""
_SEEN = """
import json
from pathlib import Path
page.keeper.flush()
Path({file!r}).write_text(json.dumps([happened, not page.tree.at_rest._works, len(page._badges),
    page.session.now.after, page.drivers.chart.value, page.header.value]))
"""


@pytest.mark.long
def test_a_kernel_answers_the_page_between_the_steps(tmp_path: Path) -> None:
    make_run(tmp_path)
    environ = {"WORKBENCH_HOME": str(tmp_path), "QUERY_STRING": f"run={RUN}"}
    kernel = KernelManager(kernel_name="python3")
    assert kernel.kernel_spec is not None
    kernel.kernel_spec.argv[0] = sys.executable
    kernel.start_kernel(cwd=Path(__file__).parents[2])
    client = kernel.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        assert run(client, _PAGE.format(environ=environ)) == "ok"
        comm = run(client, "", tree="page.tree.comm.comm_id")

        def send(**content: Any) -> None:
            data = {"method": "custom", "content": content}
            client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": comm, "data": data}))

        def seen() -> list[Any]:
            assert run(client, _SEEN.format(file=str(tmp_path / "seen.json"))) == "ok"
            told: list[Any] = json.loads((tmp_path / "seen.json").read_text())
            return told

        # All at once: work in one go, or put behind what is ready now, would come before the second.
        send(type="rest")
        send(type="ping")
        send(type="find", text="VIX", kind="")
        end = time.monotonic() + 60
        while not (told := seen())[1] and time.monotonic() < end:
            time.sleep(0.1)
        happened = told[0]
        assert told[1:3] == [True, 3]
        assert happened.count("piece") > 10
        assert [happened.index(each) for each in ("rest", "ping", "find")] == sorted(
            happened.index(each) for each in ("rest", "ping", "find")
        )
        assert happened[: happened.index("find")].count("piece") <= 4
        # An edit that comes while the panels of the one before are drawn; the last one counts.
        send(type="edit", id="P2.1", text="0.9", moving=True)
        send(type="rest")
        send(type="edit", id="P2.1", text="0.1", moving=True)
        send(type="rest")
        while not (told := seen())[1] and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
    from workbench.views.run_view import load_run
    from workbench.widgets.run_page import dashboard

    fresh = dashboard(load_run(tmp_path, RUN), owns_address=True)
    fresh.catch_up()
    assert told[3] == fresh.session.now.after
    assert told[4:] == [fresh.drivers.chart.value, fresh.header.value]


def run(client: Any, code: str, **asked: str) -> str:
    """Run code in a kernel; returns ``ok`` or its traceback, or what the one expression came to."""
    reply = client.execute(code, user_expressions=asked, reply=True, timeout=60)["content"]
    if reply["status"] != "ok":
        return "\n".join(reply["traceback"])
    for value in reply["user_expressions"].values():
        return str(value["data"]["text/plain"]).strip("'")
    return "ok"
