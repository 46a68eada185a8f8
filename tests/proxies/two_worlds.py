"""Two worlds that agree on everything dated before a cutoff: how they are made, and what is read in each.

Used by the laws (test_law_of_two_worlds.py, test_two_worlds.py). A world is drawn by Hypothesis: the cutoff, what came out before
and after it, and what else a vendor changes with a date: rows added, totals and the order of rows, texts edited with the day of
the edit.
"""

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.catalogue import Endpoint
from proxies.errors import Refused, SourceError
from proxies.ledger import Address, MemoryLedger
from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_facts import at, writer_of
from tests.fakes.upstream_world import World
from tests.proxies.worlds import (
    CUTOFFS,
    EASY,
    Outcome,
    ask_for,
    in_loop,
    junk,
    minutes,
    params_of,
    texts_of,
    world_broker,
)

#: Worlds of these are made in test_two_worlds.py: in the shared one, rows that left after the cutoff are rows of before it.
MEMBERS = "fmp/indexes/constituents/"
#: What else differs: the order of rows, texts that were edited, entities that were delisted, bought or resolved, and for which
#: cutoff the raw cache was filled ("" for none).
Draw = tuple[bool, bool, bool, str]
#: Totals as vendors name them.
TOTALS = ("count", "num_found", "total", "totalResults", "totalMetrics")
#: How vendors say that there is none under a name.
NONE = {
    "dbnomics": Sent({"errors": [{"message": "not found"}]}, 404),
    "gt": Sent({"error": "Google Trends didn't return any results."}),
    "brave": Sent({"type": "search"}),
    "kalshi": Sent({"error": {"code": "not_found"}}, 404),
    "polymarket": Sent({"type": "not found error"}, 404),
    "gdelt": Sent({}),
    "serper": Sent({"organic": []}),
    "tavily": Sent({"results": []}),
    "searxng": Sent({"results": []}),
    "wayback": Sent([]),
    "wayback/page": Sent(b"The Wayback Machine has not archived that URL.", 404),
    "sec": Sent(b"<Error><Code>NoSuchKey</Code></Error>", 404),
    "wikipedia": Sent({"query": {"pages": [{"title": "T", "missing": True}]}}),
    "wikipedia/pageviews": Sent(
        {"detail": "The date(s) you used are valid, but we either do not have data."}, 404
    ),
    "yfinance": Sent({"chart": {"result": None, "error": {"code": "Not Found"}}}, 404),
}
_HERE = Path(__file__).resolve().parents[2] / "kernels" / "analyst" / "call_api.py"


@functools.cache
def _kernel() -> Any:
    spec = importlib.util.spec_from_file_location("call_api_of_the_kernel", _HERE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _printed(meta: dict[str, Any]) -> str:
    """What the kernel's own code prints on stderr for an answer's meta."""
    api = _kernel().CallApi(None)
    api.meta = meta
    return str(api.notes())


def read(outcome: Outcome | Any) -> str:
    """Every byte that reaches an agent, the time of fetching apart."""
    answer = outcome.answer if isinstance(outcome, Outcome) else outcome
    if answer is None:
        return f"{type(outcome.refused).__name__}: {outcome.refused}"
    meta = {name: value for name, value in answer.meta.items() if name != "fetched_at"}
    meta["fetched"] = answer.meta["fetched_at"] is not None
    return "\n".join((answer.body.decode(), orjson.dumps(meta).decode(), _printed(meta)))


def known(endpoint: Endpoint, moment: datetime) -> datetime:
    """When what a world writes for a moment is really out."""
    if endpoint.path in ("dbnomics/series", "dbnomics/dataset-series"):
        start = (moment.date() - timedelta(days=60)).replace(day=1)
        end = (start + timedelta(days=32)).replace(day=1) - timedelta(days=1)
        return at(end + timedelta(days=30), datetime.min.time(), UTC)
    writer = writer_of(endpoint.path)
    return writer(moment).known if writer else moment


@dataclass
class Changes:
    """What a vendor changes with a date after the cutoff, besides rows that are added: applied to the raw answer."""

    endpoint: Endpoint
    later: datetime
    totals: int = 0
    reverse: bool = False
    edited: bool = False
    ended: bool = False

    def __call__(self, _: Seen, sent: Sent) -> Sent:
        if isinstance(sent.body, bytes):
            return sent
        value, as_of = sent.body, self.endpoint.as_of
        if self.reverse and as_of.order:
            value = self._reversed(value, (self.endpoint.rows or "").removesuffix("[]").rpartition(".")[2])
        texts = (
            {name.rpartition(".")[2] for name in texts_of(self.endpoint)} - {"url", "title"}
            if self.edited
            else set()
        )
        return Sent(self._changed(value, texts), sent.status)

    def _reversed(self, value: Any, key: str) -> Any:
        if isinstance(value, list):
            return value[::-1] if not key else value
        if isinstance(value, dict):
            return {
                n: v[::-1] if n == key and isinstance(v, list) else self._reversed(v, key)
                for n, v in value.items()
            }
        return value

    def _changed(self, value: Any, texts: set[str]) -> Any:
        if isinstance(value, list):
            return [self._changed(item, texts) for item in value]
        if not isinstance(value, dict):
            return value
        out: dict[str, Any] = {}
        for name, item in value.items():
            # How many contracts a trade moved is no total.
            if name in TOTALS and type(item) is int and "trade_id" not in value:
                out[name] = item + self.totals
            elif name in texts and isinstance(item, str):
                out[name] = f"{item}\nUpdate {self.later:%Y-%m-%d}: it was resolved."
            else:
                out[name] = self._changed(item, texts)
        if self.endpoint.source.name == "fmp" and "symbol" in out:
            # as a vendor marks a company that was delisted or bought
            out["isActivelyTrading"] = not self.ended
            out["delistedDate"] = self.later.date().isoformat() if self.ended else None
        return out


def ask(broker: Broker, endpoint: Endpoint, cutoff: Cutoff, world: World, params: dict[str, Any]) -> str:
    async def call() -> Outcome:
        ledger = MemoryLedger()
        address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=0, retry=0)
        try:
            return Outcome(
                await broker.session(cutoff, ledger).call(endpoint.path, params, address), None, ledger, world
            )
        except (Refused, SourceError) as error:
            return Outcome(None, error, ledger, world)

    return read(in_loop(call()))


def close(broker: Broker) -> None:
    in_loop(broker.aclose())  # type: ignore[arg-type]


def told_if(
    endpoint: Endpoint, cutoff: Cutoff, change: Callable[[Seen, Sent], Sent], *, door: str = ""
) -> str:
    """What is read of a world that ends at the cutoff and whose vendor sends its answers changed."""
    moments = [cutoff.instant - timedelta(days=days, hours=5) for days in (1300, 700, 500, 300)]
    world = World(cutoff.instant, moments, [], door=door)
    ask_for(endpoint, world)
    change_answers(world, change)
    broker = world_broker(endpoint, world)
    text = ask(broker, endpoint, cutoff, world, params_of(endpoint, world))
    close(broker)
    return text


def change_answers(world: World, change: Callable[[Seen, Sent], Sent]) -> None:
    """Have a world's vendor send its answers with some changes."""
    answer = world.answer
    world.answer = lambda seen: change(seen, answer(seen))  # type: ignore[method-assign]


def in_both(
    endpoint: Endpoint, cutoff_text: str, offsets: list[int], bad: list[Any], draw: Draw
) -> tuple[str, str]:
    """What is read in a world that ends at the cutoff, and in one that goes on."""
    cutoff = Cutoff.parse(cutoff_text)
    moments = [cutoff.instant + timedelta(minutes=m) for m in [-1300 * 1440, *offsets, 400 * 1440]]
    before = [m for m in moments if known(endpoint, m) <= cutoff.instant]
    after = [m for m in moments if known(endpoint, m) > cutoff.instant]
    worlds = [World(cutoff.instant, list(some), bad) for some in (before, [*before, *after])]
    reverse, edited, ended, warm = draw
    worlds[1].ended = min(after) if ended else None
    for n, world in enumerate(worlds):
        ask_for(endpoint, world)
        # what a vendor says of today is another word in each world
        world.late |= {f"of today {k}" for k in range(5 * n)}
    changes = Changes(
        endpoint, max(after), totals=len(after), reverse=reverse, edited=edited, ended=bool(ended)
    )
    change_answers(worlds[0], Changes(endpoint, max(after)))
    change_answers(worlds[1], changes)
    params = params_of(endpoint, worlds[0])
    told = []
    for n, world in enumerate(worlds):
        broker = world_broker(endpoint, world)
        if n and warm:
            # the raw answers lie in the cache already, fetched for one who may see more
            ask(broker, endpoint, Cutoff.parse(warm), world, params)
        told.append(ask(broker, endpoint, cutoff, world, params))
        close(broker)
    return told[0], told[1]


draws = st.tuples(
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "live", "2026-10-01", "2025-06-01T12:00:00Z"]),
)


def check(endpoint: Endpoint) -> None:
    @EASY
    @given(st.sampled_from(CUTOFFS), minutes(), junk(), draws)
    def law(cutoff: str, offsets: list[int], bad: list[Any], draw: Draw) -> None:
        one, other = in_both(endpoint, cutoff, offsets, bad, draw)
        assert one == other

    law()
