"""Which grounder fits a leaf: rules first, and what they leave open is a model's to choose (`grounders.router` asks it).

The rules look at words and names alone. A grounder that is not installed is never chosen, so the same tree routes on an installation
without search.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workbench.propositions.strict_json import STRICT

Chooser = Literal["person", "rule", "model"]

#: Grounders that a leaf can be sent to, by what they are good for; the first installed one of a kind is taken.
FOR_EVENTS: tuple[str, ...] = ("search", "belief", "deep_research")
FOR_DATA: tuple[str, ...] = ("notebook",)
#: What no model is asked for; both together cost next to nothing, so where both fit, both are used.
FREE: tuple[str, ...] = ("statistical", "market")
ROUTED: tuple[str, ...] = (*FREE, *FOR_EVENTS, *FOR_DATA)

#: Resolved leaves from which on the record of a grounder decides between those of one kind.
ENOUGH = 20

_EVENT = re.compile(
    r"\b(announc\w*|sign(?:s|ed)?|elect\w*|wins?|won|resign\w*|appoint\w*|nominat\w*|confirm\w*|pass(?:es|ed)?|approv\w*|veto\w*|"
    r"ban(?:s|ned)?|invad\w*|attack\w*|ceasefire|treaty|sanction\w*|launch\w*|releas\w*|acquir\w*|merg(?:e|es|er)|bankrupt\w*|sue[sd]?|"
    r"convict\w*|indict\w*|rul(?:es|ing)|testif\w*|visit\w*|meets?|strike|shutdown|impeach\w*|declar\w*|withdraw\w*|joins?|leaves?)\b",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"\b(rates?|index|indices|averages?|mean|median|sales|revenue|earnings|profits?|margins?|growth|prices?|yields?|inflation|gdp|"
    r"unemployment|payrolls?|exports?|imports?|volume|volatility|ratio|share of|population|temperature|rainfall|production|inventories|"
    r"debt|deficit|spread|per ?cent|percentage)\b|%",
    re.IGNORECASE,
)
# Years and days are numbers that every proposition has.
_DATE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}\b|\b(?:19|20)\d{2}\b|\b\d{1,2} (?:january|february|march|april|may|june|july|august|september|october|november|"
    r"december)\b|\bq[1-4]\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrounderRecord:
    """How a grounder has done on leaves that were resolved before a cutoff: their number, mean Brier score, and cost per leaf in US dollars."""

    n: int
    brier: float
    cost_usd: float | None = None

    def words(self) -> str:
        """For a reason: ``Brier 0.180 on 24 resolved leaves``."""
        return f"Brier {self.brier:.3f} on {self.n} resolved leaves"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a leaf goes: one grounder, or several whose forecasts are pooled; who chose, and why in one line.

    ``instead`` are tried in this order where those chosen give no belief.
    """

    grounders: tuple[str, ...]
    by: Chooser
    reason: str
    instead: tuple[str, ...] = ()

    __pydantic_config__ = STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """What the rules may know of a leaf: its sentence, and whether a series and a market were found for it (their names, "" if not)."""

    statement: str
    series: str = ""
    market: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The grounders of this installation that may be chosen, and their records."""

    names: tuple[str, ...]
    records: Mapping[str, GrounderRecord] = field(default_factory=dict)

    def best(self, kind: Sequence[str]) -> str | None:
        """Return the grounder of a kind: by its record where every one of them has enough, else the first installed."""
        present = [name for name in kind if name in self.names]
        records = {name: self.records.get(name) for name in present}
        known = {
            name: record for name, record in records.items() if record is not None and record.n >= ENOUGH
        }
        if len(present) > 1 and len(known) == len(present):
            return min(present, key=lambda name: known[name].brier)
        return present[0] if present else None

    def why(self, name: str) -> str:
        """A record in words, to end a reason with; "" without one."""
        record = self.records.get(name)
        return f"; {record.words()}" if record is not None else ""


def route_by_rule(leaf: Leaf, candidates: Candidates) -> Route | None:
    """Return where a leaf goes, or None where the rules do not decide and more than one grounder is left.

    A series that decides the leaf goes before everything, a market beside it; an event in words goes to search, a figure to a notebook.

    >>> some = Candidates(names=("market", "notebook", "search", "statistical"))
    >>> route_by_rule(Leaf(statement="Ann resigns by June 2025"), some).grounders
    ('search',)
    >>> route_by_rule(Leaf(statement="Retail sales grow by 3 % in 2025"), some).grounders
    ('notebook',)
    """
    if len(candidates.names) == 1:
        return Route(grounders=candidates.names, by="rule", reason="the only grounder that may be chosen")
    events, data = candidates.best(FOR_EVENTS), candidates.best(FOR_DATA)
    rest = tuple(name for name in (data, events) if name is not None)
    fits = {
        "statistical": leaf.series and f"the series {leaf.series} decides it",
        "market": leaf.market and f"the market {leaf.market} asks it",
    }
    free = tuple(name for name in FREE if name in candidates.names and fits[name])
    if free:
        reason = " and ".join(str(fits[name]) for name in free)
        both = ": both, pooled, since neither costs a model call" if len(free) > 1 else ""
        return Route(grounders=free, by="rule", reason=f"{reason}{both}", instead=rest)
    if len(rest) == 1:
        return Route(grounders=rest, by="rule", reason=f"{rest[0]} is the only grounder here that fits")
    if not rest:
        return None
    words = _DATE.sub(" ", leaf.statement)
    event, figure = _EVENT.search(words), _DATA.search(words)
    if event and not figure and events is not None:
        reason = f"an event ({event[0].lower()}), no figure{candidates.why(events)}"
        return Route(grounders=(events,), by="rule", reason=reason, instead=rest[:1])
    if figure and not event and data is not None:
        reason = f"a figure ({figure[0].lower()}), no event{candidates.why(data)}"
        return Route(grounders=(data,), by="rule", reason=reason, instead=rest[1:])
    return None
