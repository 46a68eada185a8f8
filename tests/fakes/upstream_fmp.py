"""Financial Modeling Prep with a state of its own: prices that are cut short, splits, an index whose members change.

The market and the index are told as they were; what the service answers depends on its ``today``. From the same record
the emulator says what was true and known on any day, which is what a test compares with.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from tests.fakes.upstream import Seen, Sent

DAY = timedelta(days=1)
OPEN = "1900-01-01"


@dataclass(frozen=True)
class Change:
    """One change of an index: who joined and who left; either may be missing."""

    day: str
    joined: str = ""
    left: str = ""


@dataclass
class Index:
    """An index that began with some companies; ``since`` is when they joined, as the vendor has it."""

    began: Mapping[str, str]
    changes: Sequence[Change]

    def on(self, day: str) -> set[str]:
        """Who was in it when a day began: what is known at a cutoff on that day."""
        inside = set(self.began)
        for change in sorted(self.changes, key=lambda c: c.day):
            if change.day < day:
                inside -= {change.left}
                inside |= {change.joined} - {""}
        return inside

    def members(self) -> list[dict[str, Any]]:
        """The vendor's list of today, each with more than was known before."""
        joined = {change.joined: change.day for change in sorted(self.changes, key=lambda c: c.day)}
        return [
            {
                "symbol": name, "name": f"{name} Inc.", "dateFirstAdded": joined.get(name, self.began.get(name)),
                "sector": "as of today", "subSector": "as of today", "headQuarter": "as of today", "cik": "1",
            }
            for name in sorted(self.on("9999-12-31"))
        ]  # fmt: skip

    def record(self) -> list[dict[str, Any]]:
        """The vendor's list of changes, newest first."""
        return [
            {
                "date": c.day, "dateAdded": "text", "symbol": c.joined, "addedSecurity": f"{c.joined} Inc.",
                "removedTicker": c.left, "removedSecurity": f"{c.left} Inc." if c.left else "", "reason": "later words",
            }
            for c in sorted(self.changes, key=lambda c: c.day, reverse=True)
        ]  # fmt: skip


@dataclass
class Share:
    """A share as it was traded: a close per day, and splits as {day: (shares after, shares before)}."""

    closes: Mapping[str, float]
    splits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    announced: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def scaled(self, day: str, splits: Mapping[str, tuple[int, int]]) -> float:
        """The close of a day in the shares that some splits left."""
        price = self.closes[day]
        for when, (up, down) in splits.items():
            price *= down / up if when > day else 1
        return price

    def as_known(self, day: str, cutoff: str) -> float:
        """The close of a day as a scaled series read when the cutoff's day began."""
        return self.scaled(day, {when: ratio for when, ratio in self.splits.items() if when < cutoff})


@dataclass
class Fmp:
    """The service; ``most`` rows in an answer, kept at the newest or at the oldest end of the window."""

    shares: Mapping[str, Share] = field(default_factory=dict)
    index: Index | None = None
    most: int = 5000
    keeps: str = "newest"
    oldest_first: bool = False
    as_traded: bool = True
    ignores_end: bool = False
    bars: Callable[[str], list[dict[str, Any]]] | None = None
    seen: list[Seen] = field(default_factory=list)

    def __call__(self, seen: Seen) -> Sent:
        self.seen.append(seen)
        tail = seen.path.rstrip("/").rpartition("/")[2]
        if tail.endswith("-constituent"):
            assert self.index is not None
            return Sent(self.index.record() if tail.startswith("historical-") else self.index.members())
        share = self.shares.get(seen.query.get("symbol", ""))
        if share is None:
            return Sent([])
        if tail == "splits":
            return Sent(
                [
                    {"symbol": seen.query["symbol"], "date": day, "numerator": up, "denominator": down}
                    for day, (up, down) in sorted({**share.splits, **share.announced}.items(), reverse=True)
                ]
            )
        if tail == "non-split-adjusted" and not self.as_traded:
            return Sent([])
        rows = self.bars(tail) if self.bars else self._daily(tail, share)
        first = seen.query.get("from", OPEN)
        last = "9999-12-31" if self.ignores_end else seen.query.get("to", "9999-12-31")
        inside = sorted(
            (row for row in rows if first <= row["date"][:10] <= last), key=lambda row: str(row["date"])
        )
        kept = inside[-self.most :] if self.keeps == "newest" else inside[: self.most]
        return Sent(kept if self.oldest_first else kept[::-1])

    def _daily(self, tail: str, share: Share) -> list[dict[str, Any]]:
        if tail == "non-split-adjusted":
            return [{"date": day, "adjClose": close, "volume": 100} for day, close in share.closes.items()]
        out = []
        for day in share.closes:
            price = share.scaled(day, share.splits)
            volume = round(100 * share.closes[day] / price) if price else 100
            out.append({"symbol": "X", "date": day, "price": price, "close": price, "volume": volume})
        return out


def weekdays(first: str, last: str) -> list[str]:
    """The days from Monday to Friday between two days, both included."""
    day, end, out = date.fromisoformat(first), date.fromisoformat(last), []
    while day <= end:
        if day.weekday() < 5:
            out.append(day.isoformat())
        day += DAY
    return out
