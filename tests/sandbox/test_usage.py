"""What a session may use as a whole is not given anew with a fresh kernel, nor when a stopped run takes the session up again."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import JournalBroken, Limits, Sandbox
from sandbox.limits.usage import ResourceUsage
from sandbox.record.journal import Journal, read_lines
from tests.sandbox.conftest import Told

CALLS = "for i in range({count}): CALL_API('x')"
END = "import os; os._exit(0)"


async def _answer(path, params, *, cell, nth):
    return Told(data="x" * 1000, meta={})


@pytest.mark.parametrize("again", ["the kernel ended", "the session was resumed"])
async def test_calls_are_those_of_the_whole_session(again: str, box: Sandbox, spec_for):
    spec = spec_for(limits=Limits(api_calls=5))
    session = await box.open(spec, _answer)
    assert (await session.execute(CALLS.format(count=3))).api_calls == 3
    if again == "the kernel ended":
        assert (await session.execute(END)).status == "died"
    else:
        await session.close()
        session = await box.open(spec, _answer)
    # the first cell ran a second time by now, and its calls are the same three
    result = await session.execute(CALLS.format(count=10))
    assert (result.api_calls, result.limit) == (2, "api_calls")
    await session.close()
    session = await box.open(spec, _answer)
    assert session.cells[0].replayed and session.cells[0].result.status == "ok"
    result = await session.execute(CALLS.format(count=1))
    assert (result.api_calls, result.limit) == (0, "api_calls")


async def test_a_cell_that_calls_more_when_it_is_run_again_gains_nothing(box: Sandbox, spec_for):
    asked: list[int] = []

    async def answer(path, params, *, cell, nth):
        asked.append(nth)
        return Told(data=len(asked), meta={})

    session = await box.open(spec_for(limits=Limits(api_calls=6, cell_seconds=10)), answer)
    await session.execute("try:\n    while CALL_API('x') != 1: CALL_API('x')\nexcept ApiRefused: pass")
    await session.execute(END)
    assert (await session.execute("1")).status == "ok"
    await session.execute(END)
    result = await session.execute("CALL_API('x')")
    assert (result.error.ename, result.limit) == ("ApiRefused", "api_calls")
    # the first ran once for one call, then twice more: its own one again, and in all no more than the session may
    assert len(asked) <= 6 + 2


async def test_calls_of_a_thread_that_its_cell_left_behind_count(box: Sandbox, spec_for):
    asked: list[str] = []

    async def answer(path, params, *, cell, nth):
        asked.append(path)
        return Told(data=None, meta={})

    spec = spec_for(limits=Limits(api_calls=4))
    session = await box.open(spec, answer)
    cell = (
        "import threading, time\ndef later():\n    time.sleep(0.3)\n    for i in range(3): CALL_API('later')\n"
        "threading.Thread(target=later, daemon=True).start()"
    )
    await session.execute(cell)
    for _ in range(100):
        if len(asked) == 3:
            break
        await asyncio.sleep(0.05)
    session.kernel.process.signal(9)
    await session.kernel.wait()
    await session.execute(
        "1"
    )  # in a fresh kernel; the thread begins again there, and that is no concern here
    await session.close()
    assert [
        line["usage"]["calls"]
        for line in read_lines(spec.journal)
        if line["kind"] == "kernel" and "usage" in line
    ][:1] == [3]
    session = await box.open(spec, answer)
    result = await session.execute("CALL_API('x'); CALL_API('y')")
    assert result.limit == "api_calls" and result.api_calls <= 1


async def test_processor_time_is_that_of_the_whole_session(box: Sandbox, spec_for):
    spec = spec_for(limits=Limits(cpu_seconds=3))
    session = await box.open(spec, _answer)
    busy = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"
    assert (await session.execute(busy.format(seconds=1.6) + END)).status == "died"
    # the control: what is left is enough for this, and it would be for the next too if the time were the kernel's
    assert (await session.execute("kept = 5")).status == "ok"
    result = await session.execute(busy.format(seconds=2))
    assert result.status == "died", result.text()
    assert (await session.execute("kept")).text() == "5"


_SHARES = st.builds(
    ResourceUsage,
    calls=st.integers(0, 99),
    answer_bytes=st.integers(0, 99),
    shown=st.integers(0, 99),
    cpu_seconds=st.floats(0, 99),
)


@given(st.lists(_SHARES))
def test_a_total_is_the_sum_of_each_amount(shares: list[ResourceUsage]):
    total = ResourceUsage.total(shares)
    assert total.calls == sum(share.calls for share in shares)
    assert total.cpu_seconds == pytest.approx(sum(share.cpu_seconds for share in shares))


@pytest.mark.parametrize(
    "usage", [{"calls": -5}, {"calls": True}, {"calls": "5"}, {"other": 1}, [1], {"calls": float("inf")}]
)
async def test_a_usage_that_none_of_ours_wrote_breaks_the_journal(usage: object, box: Sandbox, spec_for):
    spec = spec_for()
    spec.journal.parent.mkdir(parents=True)
    journal = Journal(spec.journal)
    journal.append("open", name="P1.1.1", title="", metadata={})
    journal.append("kernel", why="opened", isolation="none", memory="watched", usage=usage)
    journal.close()
    with pytest.raises(JournalBroken, match=r"usage|used|line"):
        await box.open(spec, _answer)
