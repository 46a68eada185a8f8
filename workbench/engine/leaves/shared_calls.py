"""Data calls that the leaves of a run share: what one has read is offered to those that begin later, so that no two pay for finding it.

Shared is where data are found (endpoint, arguments, how many rows of which days), never what they say: each leaf makes the call itself,
under its own address in the ledger, and the broker answers it from its cache. What a leaf was offered stands in the event of its
beginning, since its first prompt is made of it.

The first leaf of a family begins at once. Its siblings wait until it has read something, or has ended, or `_PATIENCE` has passed.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from proxies.ledger import CATALOGUE
from workbench.agents.base import Grounder
from workbench.engine.approvals import WEB_SOURCES
from workbench.engine.record.recorder import Recorder
from workbench.propositions import NodeId
from workbench.quoting import quote, seen
from workbench.store import ApiLedger

#: Most calls that one leaf is offered, and the longest line of one.
MOST_CALLS, LONGEST_LINE = 12, 240
#: Seconds that a leaf waits for the first of its family.
_PATIENCE = 90.0
#: Bytes of an answer that is read for its number of rows: a larger one is not offered.
_LARGEST = 4_000_000
_DATE_KEYS = ("date", "observation_date", "day", "period")
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")


class SharedCalls:
    """What the leaves of one run have read, and whose turn it is to begin."""

    def __init__(
        self,
        recorder: Recorder,
        grounder: Grounder,
        ledger: ApiLedger,
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self._recorder = recorder
        self._ledger = ledger
        self._sleep = sleep
        state = recorder.state
        self.offers = (
            state.settings.agent.share_calls
            and not state.settings.stays_here
            and getattr(grounder, "takes_known_calls", False)
        )
        #: The leaf that goes first, by parent, until it has read something; nobody waits for one that waits for a person.
        self._first: dict[NodeId | None, NodeId] = {}
        if self.offers and state.settings.approve == "none":
            for leaf in state.tree.leaves():
                if state.due(leaf):
                    self._first.setdefault(state.tree.parent(leaf), leaf)
        self._read = {leaf: asyncio.Event() for leaf in self._first.values()}
        self._gave: dict[str, str] = {}

    @asynccontextmanager
    async def turn(self, node: NodeId) -> AsyncIterator[None]:
        """Hold back a leaf until the first of its family has read something; used around all of its trials."""
        first = self._first.get(self._recorder.state.tree.parent(node), node)
        if first != node:
            await self._wait_for(first)
        try:
            yield
        finally:
            if node in self._read:
                self._read[node].set()

    async def _wait_for(self, first: NodeId) -> None:
        read = asyncio.ensure_future(self._read[first].wait())
        limit = asyncio.ensure_future(self._sleep(_PATIENCE))
        try:
            await asyncio.wait({read, limit}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            read.cancel()
            limit.cancel()

    def note_progress(self, node: NodeId) -> None:
        """Let the siblings of a leaf begin if it has read something; called when a cell has run and when a reply came."""
        read = self._read.get(node)
        if (
            read is not None
            and not read.is_set()
            and self._ledger.answered_calls(self._recorder.state.run_id, node)
        ):
            read.set()

    def offered(self, node: NodeId) -> tuple[str, ...]:
        """Return a line for each call that a leaf may make again, those of its siblings first."""
        if not self.offers:
            return ()
        state = self._recorder.state
        parent = state.tree.parent(node)
        near: dict[str, None] = {}
        far: dict[str, None] = {}
        for reader, path, params, answer, size in self._ledger.answered_calls(state.run_id):
            line = self._line(path, params, answer, size)
            if line is not None:
                same = reader in state.tree and state.tree.parent(reader) == parent
                (near if same else far)[line] = None
        return tuple({**near, **far})[:MOST_CALLS]

    def _line(self, path: str, params: str, answer: str, size: int) -> str | None:
        """The line of a call; None for texts of the web, a person's own data, and what is no plain list of rows."""
        source = path.partition("/")[0]
        if path.startswith(CATALOGUE) or source == "own" or size > _LARGEST or {source, path} & WEB_SOURCES:
            return None
        if answer not in self._gave:
            self._gave[answer] = rows_line(self._recorder.store.json(answer))
        if not self._gave[answer]:
            return None
        line = seen(f"{path} {params}: {self._gave[answer]}")
        # Arguments are a model's words, which may be a page's: what is long or speaks to its reader is not passed on.
        return line if len(line) <= LONGEST_LINE and not quote(line, LONGEST_LINE).marks else None


def rows_line(data: Any) -> str:
    """Return how many rows an answer has and of which days; "" where it has none.

    >>> rows_line([{"date": "2018-06-28", "value": 1.0}, {"date": "2018-06-29", "value": 2.0}])
    '2 rows, 2018-06-28 to 2018-06-29'
    """
    rows = data
    if isinstance(data, dict):
        rows = max((part for part in data.values() if isinstance(part, list)), key=len, default=None)
    if not isinstance(rows, list) or not rows:
        return ""
    dates = [
        row[name]
        for row in rows
        if isinstance(row, dict)
        for name in _DATE_KEYS
        if isinstance(row.get(name), str) and _DATE.match(row[name])
    ]
    counted = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return f"{counted}, {min(dates)[:10]} to {max(dates)[:10]}" if dates else counted
