"""What a policy is made of: a request, a plan for the upstream, a judge of rows.

A policy is two pure functions. ``prepare`` turns what was asked into what is sent (or refuses, or says that the
whole window lies after the cutoff). ``judge`` makes, once per answer, a function that tells for one row why it
must go, or None where it may stay. Neither does I/O nor looks at a clock.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.rows import get
from proxies.asof.stamps import Stamp, known_from
from proxies.catalogue.loader import Endpoint
from proxies.catalogue.schema import StampRow

LATE = "known on or after the cutoff"
UNDATED = "no readable date"
Judge = Callable[[Any], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A checked request: the endpoint and its parameters, in the upstream's own types."""

    endpoint: Endpoint
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Another answer the judge needs: read inside the broker, never told.

    ``unless`` names earlier lookups: where all of them gave rows this one is not made.
    """

    name: str
    path: str
    params: Mapping[str, Any]
    unless: tuple[str, ...] = ()

    def needless(self, answers: Mapping[str, tuple[str, bytes] | None]) -> bool:
        """Whether the raw answers so far, (source, body) by name, spare this lookup."""
        bodies = [(answers.get(name) or ("", b""))[1].strip() for name in self.unless]
        return bool(bodies) and all(body not in (b"", b"[]", b"{}", b"null") for body in bodies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is sent upstream.

    ``nothing`` says that the whole window lies after the cutoff: the answer is empty without asking.
    """

    params: Mapping[str, Any]
    clamped: tuple[str, ...] = ()
    nothing: bool = False
    lookups: tuple[Lookup, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came back beside the rows: the sent parameters and the lookups' answers."""

    sent: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    lookups: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class AskAgain(Exception):
    """The answer cannot be trimmed to the cutoff, but another request can be: the parameters to send instead."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__("ask again")
        self.params = dict(params)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy's two halves."""

    prepare: Callable[[Ask, Cutoff], Plan]
    judge: Callable[[Ask, Cutoff, Found], Judge]


def pass_on(ask: Ask, cutoff: Cutoff) -> Plan:
    """Send what was asked."""
    return Plan(params=dict(ask.params))


def keep_all(ask: Ask, cutoff: Cutoff, found: Found) -> Judge:
    """No row goes."""
    return lambda row: None


@lru_cache(maxsize=512)
def stamp_of(row: StampRow, grain: str) -> Stamp:
    """The stamp reader's terms for a catalogue row; ``grain`` stands in where the row names a parameter."""
    close: tuple[int, int] | None = None
    zone = ZoneInfo(row.zone)
    close_zone = zone
    if row.close:
        clock, _, name = row.close.partition(" ")
        hour, _, minute = clock.partition(":")
        close, close_zone = (int(hour), int(minute)), ZoneInfo(name or row.zone)
    return Stamp(
        form=row.form, zone=zone, grain=grain, close=close, close_zone=close_zone, plus_days=row.plus_days
    )


def stamp_for(ask: Ask, row: StampRow) -> Stamp:
    """The stamp of a request: a grain written ``param:NAME`` is the bar length the caller asked for."""
    grain = row.grain
    if grain.startswith("param:"):
        grain = str(ask.params.get(grain[6:]) or "1day")
    return stamp_of(row, grain)


def by_stamp(ask: Ask, cutoff: Cutoff, row_stamp: StampRow | None = None) -> Judge:
    """A judge that keeps the rows whose stamp was known before the cutoff; unreadable ones go."""
    row = row_stamp or ask.endpoint.as_of.stamp
    assert row is not None, "the loader checks that these policies have a stamp"
    stamp = stamp_for(ask, row)
    texts: dict[str, str | None] = {}

    def verdict(value: Any) -> str | None:
        known = known_from(value, stamp)
        if known is None:
            return UNDATED
        return None if cutoff.admits(known) else LATE

    if row.field.startswith("param:"):
        # the date is in the request: every row shares its verdict
        shared = verdict(ask.params.get(row.field[6:]))
        return lambda item: shared

    plain = bool(row.field) and "." not in row.field and not row.fallback and not row.soft
    name = row.field

    def judge(item: Any) -> str | None:
        if plain and type(item) is dict:
            # most rows of most answers: a text under a name, whose verdict is known already
            value = item.get(name)
            if type(value) is str and value in texts:
                return texts[value]
        return full(item)

    def full(item: Any) -> str | None:
        value = get(item, row.field)
        if row.fallback and (value is None or value == ""):
            value = get(item, row.fallback)
        if row.soft and (value is None or value == ""):
            return None
        if not isinstance(value, (str, int, float)):
            return UNDATED
        if not isinstance(value, str):
            return verdict(value)
        # equal stamps are frequent and reading one costs more than looking it up
        if value not in texts:
            texts[value] = verdict(value)
        return texts[value]

    def of_texts(values: Set[str]) -> dict[str, str | None]:
        """The verdicts on many texts: where days are told in order, one search finds the last that was known."""
        last = _last_day(stamp, cutoff) if stamp.form == "iso" and len(values) > 50 else None
        told = {}
        for value in values:
            day = parse_day(value) if last else None
            if last and day and _FIRST_DAY <= day <= _FINAL_DAY:
                told[value] = None if day <= last else LATE
            else:
                told[value] = verdict(value)
        return told

    if plain:
        # of rows with a text under this name equal texts share a verdict: long lists are judged by text, not by row
        vars(judge)["by_text"] = (name, of_texts)
    return judge


_FIRST_DAY, _FINAL_DAY = date(1800, 1, 1), date(2400, 1, 1)


def _last_day(stamp: Stamp, cutoff: Cutoff) -> date:
    """The last day whose stamp was known before the cutoff; a later day is never known earlier."""
    low, high = _FIRST_DAY.toordinal() - 1, _FINAL_DAY.toordinal()
    while low < high:
        middle = (low + high + 1) // 2
        known = known_from(date.fromordinal(middle).isoformat(), stamp)
        if known is not None and cutoff.admits(known):
            low = middle
        else:
            high = middle - 1
    return date.fromordinal(low)
