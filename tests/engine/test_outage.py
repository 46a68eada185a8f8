"""A provider that does not answer is waited for by the whole run together, by a clock that is faked here."""

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from proxies.fetch.pacing import Pace, reset_seconds
from tests.fakes.asking_run import FakeTime
from workbench.engine.access.outage import Outage, ProviderDown, Timing
from workbench.models.errors import ModelUnavailable


def outage(time: FakeTime, **more: Any) -> tuple[Outage, list[tuple[bool, str]]]:
    changes: list[tuple[bool, str]] = []
    pace = Pace(100, clock=time.clock, sleep=time.sleep)
    return Outage(
        "openai/x",
        patience=more.pop("patience", 900.0),
        pace=pace,
        on_change=lambda down, reason, seconds: changes.append((down, reason)),
        timing=Timing(time.clock, time.sleep, random.Random(1).random),
    ), changes


class Server:
    """Down between two instants; counts what reaches it."""

    def __init__(self, time: FakeTime, down: Callable[[float], bool], **error: Any) -> None:
        self.time, self.down, self.error = time, down, error
        self.calls = self.refused = 0

    async def __call__(self) -> str:
        await self.time.sleep(0.2)
        if self.down(self.time.now - 1000.0):
            self.refused += 1
            raise ModelUnavailable("503", heard=True, **self.error)
        self.calls += 1
        return "yes"


@pytest.mark.parametrize("minutes", [0.2, 5, 14])
async def test_an_outage_below_the_patience_costs_nothing_but_time(minutes: float) -> None:
    time = FakeTime()
    breaker, changes = outage(time)
    server = Server(time, lambda now: 10 < now < 10 + 60 * minutes)

    async def leaf() -> list[str]:
        return [await breaker.call(server) for _ in range(100)]

    async def run() -> list[list[str]]:
        return await asyncio.gather(*(leaf() for _ in range(20)))

    replies = await time.drive(run())
    assert replies == [["yes"] * 100] * 20 and server.calls == 2000
    # One asks for all: an outage of 14 minutes is not met with a thousand requests.
    assert server.refused <= 20 + 2 * 60 * minutes / 15 + 8
    assert [down for down, _ in changes] == [True, False] and changes[0][1] == "503"


async def test_after_the_patience_every_call_ends_and_none_is_sent_any_more() -> None:
    time = FakeTime()
    breaker, changes = outage(time)
    server = Server(time, lambda now: now > 1)

    async def leaf() -> None:
        while True:
            await breaker.call(server)

    async def run() -> list[Any]:
        return await asyncio.gather(*(leaf() for _ in range(20)), return_exceptions=True)

    ended = await time.drive(run())
    assert all(isinstance(end, ProviderDown) for end in ended)
    assert 900 <= time.now - 1000 <= 960
    sent = server.refused
    with pytest.raises(ProviderDown, match="openai/x does not answer"):
        await breaker.call(server)
    assert server.refused == sent and [down for down, _ in changes] == [True]


async def test_a_server_that_nobody_ever_heard_of_is_given_up_soon() -> None:
    time = FakeTime()
    breaker, _ = outage(time)

    async def refused() -> str:
        raise ModelUnavailable("connection refused")

    with pytest.raises(ProviderDown):
        await time.drive(breaker.call(refused))
    assert 15 <= time.now - 1000 < 60


@pytest.mark.parametrize("limited", [True, False])
async def test_a_refusal_for_too_many_is_no_fault_of_a_request_though_others_are_answered(
    limited: bool,
) -> None:
    time = FakeTime()
    breaker, _ = outage(time)
    tries = itertools.count()

    async def fine() -> str:
        return "yes"

    async def refused() -> str:
        await breaker.call(fine)
        if next(tries) < 12:
            raise ModelUnavailable("429", rate_limited=limited, heard=True)
        return "at last"

    if limited:
        assert await time.drive(breaker.call(refused)) == "at last"
    else:
        with pytest.raises(ModelUnavailable):
            await time.drive(breaker.call(refused))
        assert next(tries) == 8  # tries of its own


@pytest.mark.parametrize("limited", [True, False])
async def test_a_refusal_for_too_many_holds_every_call_of_the_run(limited: bool) -> None:
    """Calls that begin after it wait as long as the provider asks; a failure of another kind holds nobody."""
    time = FakeTime()
    pace = Pace(100, clock=time.clock, sleep=time.sleep)
    breaker = Outage(
        "openai/x", patience=900.0, pace=pace, timing=Timing(time.clock, time.sleep, random.Random(1).random)
    )
    sent: list[float] = []

    async def send() -> str:
        async with pace.slot():
            sent.append(time.now - 1000.0)
            await time.sleep(0.2)
            if len(sent) == 1:
                raise ModelUnavailable("no", rate_limited=limited, retry_after=120.0, heard=True)
            return "yes"

    async def late(seconds: float) -> str:
        await time.sleep(seconds)
        return await breaker.call(send)

    async def run() -> list[str]:
        return await asyncio.gather(breaker.call(send), *(late(seconds) for seconds in (1.0, 30.0, 119.0)))

    assert await time.drive(run()) == ["yes"] * 4
    held = [moment for moment in sent[1:] if moment < 120]
    assert held == ([] if limited else [1.0, 30.0, 119.0])


async def test_a_pause_beyond_the_patience_stops_the_run_at_once_and_says_so() -> None:
    time = FakeTime()
    breaker, _ = outage(time, patience=300.0)

    async def limited() -> str:
        raise ModelUnavailable("429", rate_limited=True, retry_after=7200.0, heard=True)

    with pytest.raises(ProviderDown, match="asks to wait 7200 s"):
        await time.drive(breaker.call(limited))
    assert time.now == 1000.0


@pytest.mark.parametrize(
    ("stated", "told", "calls", "seconds"),
    [
        # The first minute's worth goes at once, the others one a second.
        (None, {"x-ratelimit-limit-requests": "60", "x-ratelimit-limit-tokens": "6000"}, 150, 90),
        (
            60,
            {"x-ratelimit-limit-requests": "6000"},
            180,
            120,
        ),  # what a person stated is a bound on what is learned
    ],
)
async def test_rates_are_stated_or_learned_and_kept(
    stated: int | None, told: dict[str, str], calls: int, seconds: int
) -> None:
    time = FakeTime()
    pace = Pace(1000, requests_per_minute=stated, clock=time.clock, sleep=time.sleep)
    pace.learn(told)
    passed: list[float] = []

    async def call() -> None:
        async with pace.slot(50):
            passed.append(time.now)

    async def run() -> None:
        await asyncio.gather(*(call() for _ in range(calls)))

    await time.drive(run())
    for start in passed:
        assert sum(1 for at_time in passed if start <= at_time < start + 60) <= 2 * 60 + 1
    assert seconds - 2 <= passed[-1] - passed[0] <= seconds + 2


async def test_a_refusal_halves_the_calls_at_once_and_answers_give_them_back() -> None:
    pace = Pace(64)
    pace.refused(None)
    pace.refused(None)
    assert pace.allowed == 16
    for _ in range(3000):
        pace.answered()
    assert pace.allowed == 64
    for _ in range(20):
        pace.refused(None)
    assert pace.allowed == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("1h2m3s", 3723.0),
        ("7", 7.0),
        ("soon", None),
        ("", None),
    ],
)
def test_resets_are_read_in_every_spelling(text: str, seconds: float | None) -> None:
    assert reset_seconds(text) == seconds
