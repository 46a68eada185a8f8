"""Pace the calls to a service: pauses between tries, requests and tokens a minute, concurrent calls.

One module for data sources and language models, so that a Retry-After means the same to both.
"""

import asyncio
import random
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def backoff(
    tries: int, *, first: float, longest: float, jitter: Callable[[], float] = random.random
) -> float:
    """Return the seconds to wait after so many tries: doubled each time up to `longest`, drawn from the upper half.

    Drawn, because callers that met one failure together would otherwise come back together.
    """
    # The exponent is bounded: after a thousand tries 2 ** tries fits no float.
    doubled: float = first * 2.0 ** min(tries - 1, 60)
    return min(longest, doubled) * (0.5 + jitter() / 2)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return seconds the upstream asks to wait, from Retry-After (also in ms) or X-RateLimit-Reset, or None."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d{1,12}(\.\d+)?", milliseconds):
        return float(milliseconds) / 1000
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    if text:
        try:
            return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
        except (TypeError, ValueError):
            return None
    first = headers.get("x-ratelimit-reset", "").split(",")[0].strip()
    # more digits are an instant since 1970, not a number of seconds to wait
    return float(first) if re.fullmatch(r"\d{1,6}", first) else None


_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


def reset_seconds(text: str) -> float | None:
    """Return the seconds until a limit is reset, from `1m30s`, `120ms`, `7` or an instant; None for anything else."""
    text = text.strip()
    if re.fullmatch(r"\d{1,6}(\.\d+)?", text):
        return float(text)
    if text and (match := _DURATION.fullmatch(text)):
        hours, minutes, seconds, thousandths = (float(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds + thousandths / 1000
    try:
        return max(0.0, (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


class Places:
    """A limit of concurrent holders, first come, first served; it counts calls under way and running cells."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._last: deque[asyncio.Future[None]] = deque()

    async def enter(self, *, last: bool = False) -> None:
        """Wait for a place and take it; ``last`` lets everybody else go first."""
        if self.running < int(self.most) and not self._waiting:
            self.running += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._last if last else self._waiting
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the place was passed to us, and we are leaving
                self.leave()
            elif turn in queue:
                queue.remove(turn)
            raise

    def leave(self) -> None:
        """Give the place back."""
        self.running -= 1
        self.wake()

    def wake(self) -> None:
        """Pass free places to those who wait."""
        while (queue := self._waiting or self._last) and self.running < int(self.most):
            turn = queue.popleft()
            if not turn.done():
                self.running += 1
                turn.set_result(None)


class _Bucket:
    """Grants units per minute; a full bucket, by default a minute's worth, may go at once."""

    def __init__(self, per_minute: float, now: float, most: float | None = None) -> None:
        self.per_minute = per_minute
        self.most = per_minute if most is None else most
        self.level = self.most
        self.updated = now

    def fill(self, now: float) -> None:
        passed = max(0.0, now - self.updated)  # a clock that goes back grants nothing
        self.level = min(self.most, self.level + passed * self.per_minute / 60)
        self.updated = now

    def wait(self, units: float) -> float:
        """Return the seconds until the units are there. A request larger than the bucket waits for a full one."""
        lacking = min(units, self.most) - self.level
        return max(0.0, lacking * 60 / self.per_minute)


class Pace:
    """Lets calls to one service through: so many concurrently, so many requests and tokens a minute.

    What is not set is learned: from rate-limit headers (`learn`) and from refusals (`refused`), which halve the calls at
    once; every answer (`answered`) gives one back.
    """

    def __init__(
        self,
        at_once: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        burst: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.most = at_once
        self._places = Places(float(at_once))
        self._clock, self._sleep = clock, sleep
        self._blocked_until = clock()
        self._buckets: dict[str, _Bucket] = {}
        self._stated: dict[str, float] = {}
        if requests_per_minute is not None:
            self._buckets["requests"] = _Bucket(requests_per_minute, clock(), burst)
            self._stated["requests"] = requests_per_minute
        if tokens_per_minute is not None:
            self._buckets["tokens"] = _Bucket(tokens_per_minute, clock())
            self._stated["tokens"] = tokens_per_minute

    @property
    def allowed(self) -> float:
        """Calls that may be under way now."""
        return self._places.most

    @property
    def running(self) -> int:
        """Calls under way."""
        return self._places.running

    @asynccontextmanager
    async def slot(self, tokens: float = 0) -> AsyncIterator[None]:
        """Hold one of the concurrent calls for the block, entered when the rates allow it; first come, first served."""
        await self._places.enter()
        try:
            await self._wait_for_rates({"requests": 1.0, "tokens": tokens})
            yield
        finally:
            self._places.leave()

    async def _wait_for_rates(self, units: Mapping[str, float]) -> None:
        while True:
            now = self._clock()
            wait = self._blocked_until - now
            for name, bucket in self._buckets.items():
                bucket.fill(now)
                wait = max(wait, bucket.wait(units[name]))
            if wait <= 0:
                break
            await self._sleep(wait)
        for name, bucket in self._buckets.items():
            bucket.level -= units[name]

    def block(self, seconds: float) -> None:
        """Let nothing through for so long: a service that asks for a pause gets all of it."""
        self._blocked_until = max(self._blocked_until, self._clock() + seconds)

    def answered(self) -> None:
        """Record an answer: one more concurrent call, up to the limit."""
        self._places.most = min(float(self.most), self.allowed + 1 / max(1.0, self.allowed))
        self._places.wake()

    def refused(self, wait: float | None) -> None:
        """Record a refusal for too many calls, with the pause that the service asks for."""
        self._places.most = max(1.0, self.allowed / 2)
        if wait is not None:
            self.block(wait)

    def learn(self, headers: Mapping[str, str]) -> None:
        """Adopt the limits in an answer's headers, in OpenAI's or Anthropic's spelling."""
        for name in ("requests", "tokens"):
            limit, remaining, reset = (
                headers.get(f"x-ratelimit-{part}-{name}") or headers.get(f"anthropic-ratelimit-{name}-{part}")
                for part in ("limit", "remaining", "reset")
            )
            seconds = reset_seconds(reset) if reset else None
            # Some providers state a limit of a day under the same name; its reset lies hours ahead.
            if limit and re.fullmatch(r"\d{1,12}", limit) and float(limit) > 0 and (seconds or 0) <= 60:
                # A rate that a person stated is a bound: theirs may be one of several programs with the same key.
                rate = min(float(limit), self._stated.get(name, float("inf")))
                bucket = self._buckets.setdefault(name, _Bucket(rate, self._clock()))
                if bucket.per_minute != rate:
                    bucket.per_minute = bucket.most = rate
                    bucket.level = min(bucket.level, bucket.most)
            if remaining == "0" and seconds:
                self.block(seconds)
