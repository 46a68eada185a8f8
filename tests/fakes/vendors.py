"""Each vendor as a server of its own on loopback: where it wants its key, how it says no, how fast it may be asked.

The rows are those of the shared world; what differs between vendors stands in ``upstream/vendors.json``, from their
documentation, and uses nothing of the broker.
"""

import json
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fakes.upstream import Seen, Sent, Upstream
from tests.fakes.upstream_world import World

KEY = "v3nd0rk3yv3nd0rk3yv3nd0rk3yv3nd0"
#: Words that no caller may read: vendors' texts can be of today.
TELLTALE = "delisted in 2031"


@dataclass(frozen=True)
class VendorShape:
    """How a vendor behaves: ``path`` is an endpoint with rows, ``key_in`` the kind and name of the place of its key."""

    source: str
    path: str
    key_in: tuple[str, str] | None
    no_such: Sent
    too_fast: Sent
    bad_key: Sent | None
    used_up: Sent | None

    def __call__(self, world: World, *, calls: int = 1000) -> "Vendor":
        return Vendor(self, world, calls=calls)


class Vendor(Upstream):
    """A vendor over a world; ``calls`` in a second are served, the next ones are told to wait."""

    def __init__(self, shape: VendorShape, world: World, *, calls: int) -> None:
        super().__init__(self._gated)
        self.shape, self.source, self.key_in = shape, shape.source, shape.key_in
        self.world, self.calls = world, calls
        self.turned_away = 0
        self._times: deque[float] = deque()

    def _gated(self, seen: Seen) -> Sent:
        if self.key_in is not None:
            place, name = self.key_in
            given = (seen.headers if place == "header" else seen.query).get(name, "")
            if given.removeprefix("Bearer ") != KEY:
                assert self.shape.bad_key is not None
                return self.shape.bad_key
        now = time.monotonic()
        while self._times and self._times[0] < now - 1:
            self._times.popleft()
        if len(self._times) >= self.calls:
            self.turned_away += 1
            return self.shape.too_fast
        self._times.append(now)
        return self.world.answer(seen)


def _sent(reply: dict[str, Any]) -> Sent:
    body = reply["text"] if "text" in reply else json.dumps(reply["json"])
    return Sent(body.encode(), reply["status"], reply.get("headers", {}))


def _shape(source: str, row: dict[str, Any]) -> VendorShape:
    replies = {
        name: _sent(row[name]) if name in row else None
        for name in ("no_such", "too_fast", "bad_key", "used_up")
    }
    key_in = tuple(row["key_in"]) if "key_in" in row else None
    return VendorShape(source=source, path=row["path"], key_in=key_in, **replies)  # type: ignore[arg-type]


_ROWS = json.loads(Path(__file__).with_name("upstream").joinpath("vendors.json").read_text(encoding="utf-8"))
VENDORS = tuple(_shape(source, row) for source, row in _ROWS.items())
