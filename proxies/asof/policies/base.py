"""Define a policy: a request, a plan for the upstream, a judge of rows.

A policy is two pure functions, neither of which is called without a cutoff. ``prepare`` turns a checked request into what is sent (or
refuses, or says that the whole window lies after the cutoff). ``judge`` makes, once per answer, the `Judge` that says for each row why it must go. Neither
does I/O nor looks at a clock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

from proxies.asof.clock import Cutoff
from proxies.asof.market_hours import day_end
from proxies.asof.rows import get
from proxies.asof.stamps import Stamp, known_from
from proxies.catalogue.schema import AsOf, Endpoint, StampRow, Window
from proxies.json_text import Fields

LATE = "known on or after the cutoff"
UNDATED = "no readable date"
#: Why a row must go, or None if it may stay.
Reason = str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """A checked request: the endpoint and its parameters, in the upstream's own types."""

    endpoint: Endpoint
    params: Fields

    @property
    def as_of(self) -> AsOf:
        """The as-of rule of the endpoint."""
        return self.endpoint.as_of

    @property
    def window(self) -> Window:
        """The window of the as-of rule, for policies that the loader gives to no row without one."""
        assert self.as_of.window is not None, "the loader checks it"
        return self.as_of.window

    @property
    def stamp(self) -> StampRow:
        """The stamp of the as-of rule, for policies that the loader gives to no row without one."""
        assert self.as_of.stamp is not None, "the loader checks it"
        return self.as_of.stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Another answer that the judge needs: read inside the broker, never shown.

    ``unless`` names earlier lookups: if all of them gave rows this one is not made. ``needed``: the rows cannot be dated without
    it, so that a source that fails it fails the call; else a failure counts as no help.
    """

    name: str
    path: str
    params: Fields
    unless: tuple[str, ...] = ()
    needed: bool = False

    def spared_by(self, answers: Mapping[str, tuple[str, bytes] | None]) -> bool:
        """Whether the raw answers so far, (source, body) by name, make this lookup needless."""
        # bytes are compared and nothing is parsed, for a large body would hold the loop
        bodies = [(answers.get(name) or ("", b""))[1].strip() for name in self.unless]
        return bool(bodies) and all(body not in (b"", b"[]", b"{}", b"null") for body in bodies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters and lookups that are sent upstream.

    ``empty`` says that the whole window lies after the cutoff: the answer is empty, and nobody is asked.
    """

    params: Fields
    clamped: tuple[str, ...] = ()
    empty: bool = False
    lookups: tuple[Lookup, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyContext:
    """What an answer is judged by: the request and its cutoff, the parameters as sent, the lookups' parsed answers by name."""

    request: ApiRequest
    cutoff: Cutoff
    sent: Fields = field(default_factory=dict)
    lookups: Fields = field(default_factory=dict)

    @property
    def as_of(self) -> AsOf:
        """The as-of rule of the request's endpoint."""
        return self.request.as_of


class AskAgain(Exception):
    """The answer needs other parameters, or lookups that its rows call for."""

    def __init__(self, params: Fields, lookups: Sequence[Lookup] = ()) -> None:
        self.params = dict(params)
        self.lookups = tuple(lookups)


class Judge:
    """Gives the reason why a row must go, or None if it may stay. One is made per answer; the row filter asks it."""

    def __init__(self, reason: Callable[[Any], Reason]) -> None:
        self.reason = reason

    def reasons(self, rows: Sequence[Any]) -> list[Reason]:
        """Return the reason of each row of a list. `StampJudge` has a fast way."""
        return list(map(self.reason, rows))


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy's two halves."""

    prepare: Callable[[ApiRequest, Cutoff], Plan]
    judge: Callable[[PolicyContext], Judge]


def asked_periods(request: ApiRequest) -> tuple[str, ...]:
    """Return the kinds of report that a request is about: annual, quarterly, or both by default."""
    period = str(request.params.get("period") or request.params.get("freq") or "")
    if period.lower().startswith("annual") or period == "FY":
        return ("annual",)
    if period.lower().startswith("quarter") or period in ("Q1", "Q2", "Q3", "Q4"):
        return ("quarter",)
    return ("annual", "quarter")


def pass_on(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Plan the request as it was asked."""
    return Plan(params=dict(request.params))


def pass_rows(context: PolicyContext) -> Judge:
    """Return a judge that lets every row stay."""
    return Judge(lambda row: None)


@lru_cache(maxsize=512)
def stamp_of(row: StampRow, grain: str) -> Stamp:
    """Build the stamp that the catalogue describes; ``grain`` is the row's own or the caller's bar length."""
    close: tuple[int, int] | None = None
    zone = ZoneInfo(row.zone)
    close_zone = zone
    if row.close:
        clock, _, name = row.close.partition(" ")
        hour, _, minute = clock.partition(":")
        close, close_zone = (int(hour), int(minute)), ZoneInfo(name or row.zone)
    return Stamp(
        form=row.form,
        zone=zone,
        grain=grain,
        close=close,
        close_zone=close_zone,
        plus_days=row.plus_days,
        pattern=row.pattern,
    )


def stamp_for(request: ApiRequest, row: StampRow) -> Stamp:
    """Return the stamp of a request: a grain ``param:NAME`` is the bar length that the caller asked for.

    A close written ``market:NAME`` is the one of the market of the symbol in the parameter NAME.
    """
    grain = row.grain
    if grain.startswith("param:"):
        grain = str(request.params.get(grain[6:]) or "1day")
    if row.close.startswith("market:"):
        end = day_end(str(request.params.get(row.close[7:]) or ""))
        return Stamp(
            form=row.form,
            zone=end.zone,
            grain=grain,
            close=end.close,
            close_zone=end.zone,
            pattern=row.pattern,
        )
    return stamp_of(row, grain)


def by_stamp(context: PolicyContext, row_stamp: StampRow | None = None) -> Judge:
    """Return a judge that lets rows stay whose stamp was known before the cutoff; rows without a readable one go."""
    row = row_stamp or context.request.stamp
    stamp = stamp_for(context.request, row)
    if row.field.startswith("param:"):
        # the date is in the request: every row shares its verdict
        shared = _verdict(context.request.params.get(row.field[6:]), stamp, context.cutoff)
        return Judge(lambda item: shared)
    return StampJudge(row, stamp, context.cutoff)


def by_stamp_if_any(context: PolicyContext) -> Judge:
    """Return the judge of `by_stamp`, or one that lets every row stay: some answers date only the rows inside their rows."""
    return by_stamp(context) if context.as_of.stamp else pass_rows(context)


def _verdict(value: Any, stamp: Stamp, cutoff: Cutoff) -> Reason:
    known_at = known_from(value, stamp)
    if known_at is None:
        return UNDATED
    return None if cutoff.admits(known_at) else LATE


class StampJudge(Judge):
    """Judges rows by one field; equal stamps are parsed once, which is slower than a lookup."""

    def __init__(self, row: StampRow, stamp: Stamp, cutoff: Cutoff) -> None:
        super().__init__(self._reason)
        self._row, self._stamp, self._cutoff = row, stamp, cutoff
        self._texts: dict[str, Reason] = {}

    def _reason(self, item: Any) -> Reason:
        row = self._row
        value = get(item, row.field)
        if row.fallback and (value is None or value == ""):
            value = get(item, row.fallback)
        if row.soft and (value is None or value == ""):
            return None
        if not isinstance(value, (str, int, float)):
            return UNDATED
        if not isinstance(value, str):
            return _verdict(value, self._stamp, self._cutoff)
        if value not in self._texts:
            self._texts[value] = _verdict(value, self._stamp, self._cutoff)
        return self._texts[value]

    def reasons(self, rows: Sequence[Any]) -> list[Reason]:
        """Judge the distinct texts, then look each row's up: ten times faster for 100,000 rows.

        Most answers are long lists of objects with one ISO date field. Any other row sends all the slow way.
        """
        row = self._row
        if not row.field or "." in row.field or row.fallback or row.soft:
            return super().reasons(rows)
        try:
            values = list(map(itemgetter(row.field), rows))
            distinct = set(values)
        except (KeyError, TypeError):
            # a row without the field, one that is no object, or an object in the place of a stamp
            return super().reasons(rows)
        # a text equals nothing but texts, so that the few distinct values say it of all
        if set(map(type, distinct)) != {str}:
            return super().reasons(rows)
        for text in distinct - self._texts.keys():
            self._texts[text] = _verdict(text, self._stamp, self._cutoff)
        return list(map(self._texts.__getitem__, values))
