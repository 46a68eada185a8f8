"""A provider that does not answer: asked again and again by the whole run together, for as long as is allowed.

An outage is no failure of a leaf. While it lasts every call of the run waits here; one at a time asks whether the provider is
back. Only when it has answered nobody in this run for ``patience`` seconds does the run stop, resumable.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from proxies.fetch.pacing import Pace, backoff
from workbench.errors import ProviderError
from workbench.models.errors import ModelUnavailable

T = TypeVar("T")

#: Failures in a row, nobody answered in between, after which the provider counts as down for the whole run.
_DOWN_AFTER = 3
#: Tries of one call that fails while the provider answers others; then the trouble is this request's own.
_OWN_TRIES = 8
#: Seconds for a server that was never heard of: most likely its address is mistyped.
_NEVER_HEARD = 15.0


@dataclass(frozen=True, slots=True)
class Timing:
    """How a run tells the time and waits; tests put a clock of their own in its place."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random


class ProviderDown(ProviderError):
    """The provider has answered nobody in this run for as long as is allowed."""


class Outage:
    """The circuit breaker of one provider in one run.

    `patience`: Seconds since the last answer after which the run stops.

    `on_change`: Called with (down, reason, seconds since the last answer) when the provider goes down and when it is back.
    """

    def __init__(
        self,
        name: str,
        *,
        patience: float,
        pace: Pace,
        on_change: Callable[[bool, str, float], None] = lambda down, reason, seconds: None,
        timing: Timing | None = None,
    ) -> None:
        timing = timing or Timing()
        self.name = name
        self.patience = patience
        self.down = False
        self._pace = pace
        self._on_change = on_change
        self._clock, self._sleep, self._jitter = timing.clock, timing.sleep, timing.jitter
        self._silent_since: float | None = None  # the first failure after the last answer
        self._heard = False
        self._failures = 0  # in a row
        self._rounds = 0
        self._answers = 0
        self._next_try = timing.clock()
        self._turn = asyncio.Lock()
        self._stopped: ProviderDown | None = None

    async def call(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return what ``send`` returns, sent again after transient failures.

        Raises `ProviderDown`: The patience is at its end; so for every call that waits here. Raises `ModelUnavailable`: This request fails
        again and again while the provider answers others.
        """
        own_tries, answers = 0, self._answers
        while True:
            if self._stopped is not None:
                raise self._stopped
            try:
                if not self.down:
                    result = await send()
                else:
                    async with self._turn:  # one asks, the others wait for what becomes of it
                        if self._stopped is not None or not self.down:
                            continue
                        await self._sleep(max(0.0, self._next_try - self._clock()))
                        result = await send()
                        self._answered()  # before the turn is passed on: the next one finds the provider up
                        return result
            except ModelUnavailable as error:
                wait = self._failed(error)
                # Counted only while others are answered: an outage is not this request's fault. A refusal for too many
                # calls uses up no try either.
                own_tries += self._answers > answers and not error.rate_limited
                answers = self._answers
                if own_tries >= _OWN_TRIES:
                    raise
                if not self.down:
                    await self._sleep(wait)
            else:
                self._answered()
                return result

    def _answered(self) -> None:
        silent = 0.0 if self._silent_since is None else max(0.0, self._clock() - self._silent_since)
        self._silent_since = None
        self._heard = True
        self._failures = self._rounds = 0
        self._answers += 1
        self._pace.answered()
        if self.down:
            self.down = False
            self._on_change(False, "", silent)

    def _failed(self, error: ModelUnavailable) -> float:
        """Note a failure and return the seconds to wait; raises ``ProviderDown`` when the patience is at its end."""
        now = self._clock()
        self._failures += 1
        self._heard = self._heard or error.heard
        asked_for = error.retry_after or 0.0
        if self._silent_since is None:
            # Not the last answer: a run whose cells work for an hour asks nobody meanwhile.
            self._silent_since = now
        # Calls that were under way together fail together: they are one round, or the pauses would grow at once to the longest.
        if now >= self._next_try:
            self._rounds += 1
            # A pause that the provider asked for is no silence of its own.
            self._silent_since += asked_for
        wait = max(backoff(self._rounds, first=1.0, longest=30.0, jitter=self._jitter), asked_for)
        if error.rate_limited:
            self._pace.refused(wait)
        patience = self.patience if self._heard else min(self.patience, _NEVER_HEARD)
        silent = max(0.0, now - self._silent_since)
        if silent >= patience or asked_for > patience:
            why = f"asks to wait {asked_for:.0f} s" if asked_for > patience else f"silent for {silent:.0f} s"
            self._stopped = ProviderDown(f"{self.name} does not answer ({why}): {error}")
            raise self._stopped from error
        self._next_try = now + wait
        if self._failures >= _DOWN_AFTER and not self.down:
            self.down = True
            self._on_change(True, str(error), silent)
        return wait
