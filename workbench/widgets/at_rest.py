"""What a page does while nobody waits for it: in steps on the kernel's own loop, between which its messages are answered."""

import asyncio
import math
import time
from collections.abc import Callable
from threading import RLock

from workbench.steps import Steps

#: How long steps go on in one piece; a message that comes meanwhile waits for it.
PIECE_SECONDS = 0.015
#: Between two pieces. A message takes several turns of the loop, and a thread of the kernel's own, until it is answered; work
#: that is put behind what is ready now would come before it at each of them.
GAP_SECONDS = 0.002
_DONE = object()


class AtRest:
    """Does the work of a page's parts in turn, as long as no edit is under way after which the page will rest.

    Where no loop runs, as in plain Python or a thread beside the kernel's, work is done at once.

    `lock`: Held during each piece: what the work shows is not changed meanwhile.
    """

    def __init__(self, lock: RLock, is_open: Callable[[], bool]) -> None:
        self._lock, self._is_open = lock, is_open
        self._works: dict[object, Steps[None]] = {}
        self._waits = self._busy = False
        #: Where the next piece is due, and its number: one that was due before it is none any more.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = 0

    def do(self, part: object, work: Callable[[], Steps[None]]) -> None:
        """Do a part's work, unless it is under way: that has to see for itself what changed since it began."""
        with self._lock:
            if part not in self._works:
                self._works[part] = work()
            self.go_on()

    def wait(self) -> None:
        """Leave off until `go_on` or more work: an edit is being made, and others may follow it."""
        self._waits = True

    def go_on(self) -> None:
        """Take up what was left off."""
        self._waits = False
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is None or self._loop.is_closed():
                self._work_until(math.inf)
        else:
            self._put_off(loop)

    def _put_off(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._due = loop, self._due + 1
        loop.call_later(GAP_SECONDS, self._piece, self._due)

    def _piece(self, number: int) -> None:
        with self._lock:
            if number != self._due:
                return
            self._loop = None
            try:
                self._work_until(time.perf_counter() + PIECE_SECONDS)
            finally:
                if self._works and not self._waits:
                    self._put_off(asyncio.get_running_loop())

    def _work_until(self, end: float) -> None:
        if not self._is_open():
            self._works.clear()
        if self._busy:  # asked for by a step, after which the others come
            return
        self._busy = True
        try:
            while self._works and not self._waits:
                part = next(iter(self._works))
                steps = self._works.pop(part)  # what fails is not begun again
                if next(steps, _DONE) is not _DONE:
                    self._works[part] = steps
                if time.perf_counter() >= end:
                    break
        finally:
            self._busy = False
