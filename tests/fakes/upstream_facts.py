"""When facts are really out: for each endpoint, how a vendor stamps a row and when what it says was known.

This is the emulators' own account, written from how the vendors and offices publish; none of it uses the broker's
policies, stamps or codecs.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

NY = ZoneInfo("America/New_York")
DAY = timedelta(days=1)
Fields = dict[str, Any]


@dataclass(frozen=True)
class Fact:
    """One row's stamps, and when it was really out; ``slack`` is how much later a careful broker may believe it."""

    fields: Fields
    known: datetime
    slack: timedelta = timedelta(0)


Writer = Callable[[datetime], Fact]


def ny(moment: datetime) -> datetime:
    return moment.astimezone(NY)


def at(day: date, clock: time, zone: Any = NY) -> datetime:
    return datetime.combine(day, clock, tzinfo=zone).astimezone(UTC)


def day_of(
    name: str, clock: str = "16:00", zone: str = "America/New_York", slack_hours: float = 0, suffix: str = ""
) -> Writer:
    """A fact stamped with its day, out at a time of that day."""
    out = time.fromisoformat(clock)
    return lambda m: Fact(
        {name: f"{ny(m).date()}{suffix}"}, at(ny(m).date(), out, ZoneInfo(zone)), timedelta(hours=slack_hours)
    )


def day_only(name: str, ahead: str = "") -> Writer:
    """A fact stamped with the day it came out, some time in the evening of that day; ``ahead`` names a day 20 days on."""

    def write(m: datetime) -> Fact:
        day = ny(m).date()
        more = {ahead: (day + 20 * DAY).isoformat()} if ahead else {}
        return Fact({**more, name: day.isoformat()}, at(day, time(19)), DAY)

    return write


def bar(minutes: int) -> Writer:
    def write(m: datetime) -> Fact:
        start = ny(m).replace(second=0, microsecond=0, minute=0, fold=0)
        true_start = start.replace(tzinfo=None)
        known = true_start.replace(tzinfo=NY, fold=0).astimezone(UTC) + timedelta(minutes=minutes)
        return Fact({"date": true_start.strftime("%Y-%m-%d %H:%M:%S")}, known, timedelta(hours=2))

    return write


def event(
    name: str, form: str = "%Y-%m-%dT%H:%M:%SZ", zone: str = "UTC", slack_hours: float = 2 / 3600
) -> Writer:
    """A fact stamped with the instant it came out."""
    place = ZoneInfo(zone)
    slack = timedelta(hours=slack_hours if zone == "UTC" else max(slack_hours, 1))

    def write(m: datetime) -> Fact:
        local = m.astimezone(place).replace(microsecond=0, fold=0)
        back = local.replace(tzinfo=None).replace(tzinfo=place).astimezone(UTC)
        return Fact({name: local.strftime(form)}, back, slack)

    return write


def filed(name: str, period: str = "date", behind: int = 40) -> Writer:
    """A report of a period that ended weeks before it was accepted."""
    stamp = event(name, "%Y-%m-%d %H:%M:%S", "America/New_York")

    def write(m: datetime) -> Fact:
        fact = stamp(m)
        return replace(fact, fields={period: (ny(m).date() - behind * DAY).isoformat(), **fact.fields})

    return write


def lagging(name: str, true_days: int, believed_days: int, more: Fields | None = None) -> Writer:
    """A fact stamped with its period's end, out some days later."""

    def write(m: datetime) -> Fact:
        end = ny(m).date() - true_days * DAY
        slack = (believed_days - true_days + 2) * DAY
        return Fact({name: end.isoformat(), **(more or {})}, at(ny(m).date(), time(17)), slack)

    return write


def epoch(name: str) -> Writer:
    return lambda m: Fact({name: int(m.timestamp())}, m.replace(microsecond=0), timedelta(seconds=2))


def session(name: str, at_open: bool = False) -> Writer:
    """A fact stamped with the second at which its day's trading began; out then, or at the close."""

    def write(m: datetime) -> Fact:
        day = ny(m).date()
        began = at(day, time(9, 30))
        out = began if at_open else at(day, time(16))
        return Fact({name: int(began.timestamp())}, out, DAY if at_open else timedelta(0))

    return write


def counted_next_day(name: str) -> Writer:
    return lambda m: Fact({name: m.strftime("%Y%m%d00")}, at(m.date() + DAY, time(12), UTC), 2 * DAY)


def plain() -> Writer:
    return lambda m: Fact({}, m)


def insider_totals() -> Writer:
    def write(m: datetime) -> Fact:
        quarter, year = (ny(m).month - 1) // 3, ny(m).year
        end = date(year + (quarter == 3), (3 * quarter + 3) % 12 + 1, 1) - DAY
        return Fact({"year": year, "quarter": quarter + 1}, at(end, time(23)), 12 * DAY)

    return write


def fiscal_year(name: str) -> Writer:
    """Known in the middle of the year after."""
    return lambda m: Fact({name: str(ny(m).year)}, at(date(ny(m).year + 1, 4, 15), time(12)), 90 * DAY)


def month_tally() -> Writer:
    def write(m: datetime) -> Fact:
        first = ny(m).date().replace(day=1)
        return Fact({"date": first.isoformat()}, at(first + 27 * DAY, time(20)), 6 * DAY)

    return write


def _writers() -> tuple[list[tuple[str, Writer]], dict[str, Writer]]:
    kinds: list[Callable[..., Writer]] = [
        day_of, day_only, bar, event, filed, lagging, epoch, session, counted_next_day, plain, insider_totals,
        fiscal_year, month_tally,
    ]  # fmt: skip
    made = {kind.__name__: kind for kind in kinds}
    rows = json.loads(Path(__file__).with_name("upstream").joinpath("facts.json").read_text(encoding="utf-8"))
    patterns = [(pattern, made[kind](**more)) for pattern, kind, more in rows["fmp"]]
    return patterns, {path: made[kind](**more) for path, (kind, more) in rows["others"].items()}


FMP, OTHER = _writers()


def writer_of(path: str) -> Writer | None:
    """Return what stamps an endpoint's rows; None for one that only tells the present."""
    if path.startswith("fmp/"):
        return next((writer for pattern, writer in FMP if re.search(pattern, path)), None)
    return OTHER.get(path)
