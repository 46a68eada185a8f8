"""A source that refuses one call for too many is left alone by all calls, for as long as it asks."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.catalogue.schema import EndpointLimits
from proxies.fetch.pacing import Places
from proxies.fetch.transport import HttpRequest, HttpResponse, RetryingTransport
from proxies.settings import Retry

REQUEST = HttpRequest(method="GET", url="http://s", query={})


class Refusing:
    """Refuses the first call, answers the others; notes each."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.calls = 0

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        self.calls += 1
        if self.calls == 1:
            return HttpResponse(status=self.status, headers={"retry-after": "20"}, body=b"")
        return HttpResponse(status=200, headers={}, body=b"[]")

    async def aclose(self) -> None:
        return


@pytest.mark.parametrize(("status", "meanwhile"), [(429, 1), (503, 4)])
def test_a_refusal_for_too_many_holds_every_call_of_the_source(status: int, meanwhile: int) -> None:
    """Three calls begin while the first one waits as long as it was asked to; where the source only failed they go on."""
    source = Refusing(status)
    pauses: list[float] = []
    over = asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await over.wait()

    async def work() -> None:
        sender = RetryingTransport(
            source="s", transport=source, limits=EndpointLimits(), retry=Retry(tries=3), sleep=sleep
        )
        first = asyncio.create_task(sender.send(REQUEST))
        while not pauses:
            await asyncio.sleep(0)
        others = [asyncio.create_task(sender.send(REQUEST)) for _ in range(3)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert source.calls == meanwhile
        over.set()
        await asyncio.gather(first, *others)

    asyncio.run(work())
    assert source.calls == 5
    assert pauses[0] == 20.0 and all(19 < pause <= 20 for pause in pauses[: 5 - meanwhile])


@given(st.integers(1, 4), st.lists(st.sampled_from(["leave", "cancel"]), max_size=30))
def test_places_are_never_more_than_there_are_and_none_is_lost(most: int, ends: list[str]) -> None:
    async def work() -> None:
        places, seen = Places(most), 0

        async def holder(end: asyncio.Event) -> None:
            nonlocal seen
            await places.enter()
            try:
                seen = max(seen, places.running)
                await end.wait()
            finally:
                places.leave()

        gates = [asyncio.Event() for _ in ends]
        tasks = [asyncio.create_task(holder(gate)) for gate in gates]
        for task, gate, end in zip(tasks, gates, ends, strict=True):
            await asyncio.sleep(0)
            task.cancel() if end == "cancel" else gate.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert seen <= most and places.running == 0
        await asyncio.wait_for(places.enter(), 30)

    asyncio.run(work())


async def test_who_may_wait_goes_after_all_who_may_not_and_a_place_left_in_the_queue_is_passed_on() -> None:
    places, order = Places(1), []

    async def hold(name: str, *, last: bool) -> None:
        await places.enter(last=last)
        order.append(name)
        places.leave()

    await places.enter()
    tasks = [
        asyncio.create_task(hold(name, last=last))
        for name, last in (
            ("check", True),
            ("first", False),
            ("gone", True),
            ("second", False),
            ("other check", True),
        )
    ]
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.sleep(0)
    places.leave()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["first", "second", "check", "other check"]
    assert places.running == 0
