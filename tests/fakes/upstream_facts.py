"""When facts are really out: for each endpoint, how a vendor stamps a row and when what it says was known.

This is the emulators' own account, written from how the vendors and offices publish; none of it uses the broker's
policies, stamps or codecs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
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


def day_of(name: str, clock: time = time(16), zone: Any = NY, slack: timedelta = timedelta(0)) -> Writer:
    """A fact stamped with its day, out at a time of that day."""
    return lambda m: Fact({name: ny(m).date().isoformat()}, at(ny(m).date(), clock, zone), slack)


def day_only(name: str, **more: Any) -> Writer:
    """A fact stamped with the day it came out, some time in the evening of that day."""
    return lambda m: Fact({name: ny(m).date().isoformat(), **more}, at(ny(m).date(), time(19)), DAY)


def bar(minutes: int) -> Writer:
    def write(m: datetime) -> Fact:
        start = ny(m).replace(second=0, microsecond=0, minute=0, fold=0)
        true_start = start.replace(tzinfo=None)
        known = true_start.replace(tzinfo=NY, fold=0).astimezone(UTC) + timedelta(minutes=minutes)
        return Fact({"date": true_start.strftime("%Y-%m-%d %H:%M:%S")}, known, timedelta(hours=2))

    return write


def event(
    name: str, form: str = "%Y-%m-%dT%H:%M:%SZ", zone: Any = UTC, slack: timedelta = timedelta(seconds=2)
) -> Writer:
    """A fact stamped with the instant it came out."""

    def write(m: datetime) -> Fact:
        local = m.astimezone(zone).replace(microsecond=0, fold=0)
        back = local.replace(tzinfo=None).replace(tzinfo=zone).astimezone(UTC)
        return Fact(
            {name: local.strftime(form)}, back, max(slack, timedelta(hours=1) if zone is not UTC else slack)
        )

    return write


def filed(name: str, period: str = "date", behind: int = 40) -> Writer:
    """A report of a period that ended weeks before it was accepted."""

    def write(m: datetime) -> Fact:
        stamp = event(name, "%Y-%m-%d %H:%M:%S", NY)(m)
        return Fact(
            {period: (ny(m).date() - timedelta(days=behind)).isoformat(), **stamp.fields},
            stamp.known,
            stamp.slack,
        )

    return write


def lagging(name: str, true_days: int, believed_days: int, **more: Any) -> Writer:
    """A fact stamped with its period's end, out some days later."""

    def write(m: datetime) -> Fact:
        end = ny(m).date() - timedelta(days=true_days)
        return Fact(
            {name: end.isoformat(), **more},
            at(ny(m).date(), time(17)),
            timedelta(days=believed_days - true_days + 2),
        )

    return write


def epoch(name: str, slack: timedelta = timedelta(seconds=2)) -> Writer:
    return lambda m: Fact({name: int(m.timestamp())}, m.replace(microsecond=0), slack)


def insider_totals(m: datetime) -> Fact:
    quarter = (ny(m).month - 1) // 3
    year = ny(m).year
    end = (
        date(year, 10, 1) if quarter == 2 else date(year + (quarter == 3), (3 * quarter + 3) % 12 + 1, 1)
    ) - DAY
    return Fact({"year": year, "quarter": quarter + 1}, at(end, time(23)), timedelta(days=12))


def fiscal_year(name: str) -> Writer:
    """Known in the middle of the year after."""
    return lambda m: Fact(
        {name: str(ny(m).year)}, at(date(ny(m).year + 1, 4, 15), time(12)), timedelta(days=90)
    )


def month_tally(m: datetime) -> Fact:
    first = ny(m).date().replace(day=1)
    return Fact({"date": first.isoformat()}, at(first + timedelta(days=27), time(20)), timedelta(days=6))


NOW_ONLY: Writer | None = None
FMP: list[tuple[str, Writer | None]] = [
    (r"crypto/end-of-day", day_of("date", time(23, 59, 59), UTC, timedelta(hours=10))),
    (r"(commodity|forex)/end-of-day", day_of("date", time(17), slack=timedelta(hours=8))),
    (r"indexes/end-of-day", day_of("date", slack=timedelta(hours=1))),
    (r"historical-price-eod|market-cap|market-performance", day_of("date")),
    (r"treasury-rates", day_of("date", time(18))),
    (r"historical-chart/1min", bar(1)),
    (r"historical-chart/5min", bar(5)),
    (r"historical-chart/15min", bar(15)),
    (r"historical-chart/30min", bar(30)),
    (r"historical-chart/1hour", bar(60)),
    (r"historical-chart/4hour", bar(240)),
    (r"technical-indicators", lambda m: Fact({"date": f"{ny(m).date()} 00:00:00"}, at(ny(m).date(), time(16)), DAY)),
    (r"economic-calendar", event("date", "%Y-%m-%d %H:%M:%S", UTC, timedelta(hours=6))),
    (r"historical-employee-count", filed("acceptanceTime", "periodOfReport")),
    (r"(income|balance-sheet|cash-flow)-statement(-ttm)?$", filed("acceptedDate")),
    (r"governance-executive|institutional-ownership/extract$|mergers|esg-disclosures|funds/disclosure$|beneficial", filed("acceptedDate")),
    (r"dividends/dividends", lambda m: Fact({"date": (ny(m).date() + timedelta(days=20)).isoformat(), **day_only("declarationDate")(m).fields}, at(ny(m).date(), time(19)), DAY)),
    (r"grades/grades$|ratings-historical", day_only("date")),
    (r"sec-filings/filings", filed("acceptedDate", "filingDate", 0)),
    (r"senate", day_only("disclosureDate")),
    (r"insider-trading/(latest|search)|extract-analytics/holder", day_only("filingDate")),
    (r"earning-call-transcript", day_only("date")),
    (r"historical-constituents", day_only("date")),
    (r"splits/splits", day_of("date", time(9, 30), slack=DAY)),
    (r"/news/", event("publishedDate", "%Y-%m-%d %H:%M:%S", NY)),
    (r"cryptocurrency-list", day_only("icoDate")),
    (r"company/profile|sec-profile|search/search-|industry-classification-search", day_only("ipoDate")),
    (r"disclosure-holders-search", lagging("date", 60, 65)),
    (r"etf/info", day_only("inceptionDate")),
    (r"commitment-of-traders-analysis", lagging("date", 3, 62)),
    (r"form-13f", lagging("date", 45, 50)),
    (r"disclosure-dates", lagging("date", 60, 65)),
    (r"grades-historical", month_tally),
    (r"insider-trading/statistics", insider_totals),
    (r"executive-compensation-benchmark", fiscal_year("year")),
    (r"esg-ratings", fiscal_year("fiscalYear")),
    (r".", NOW_ONLY),
]  # fmt: skip
OTHER: dict[str, Writer | None] = {
    "kalshi/markets": event("open_time"),
    "kalshi/market": event("open_time"),
    "kalshi/events": event("open_time"),
    "kalshi/event": event("open_time"),
    "kalshi/candlesticks": epoch("end_period_ts"),
    "kalshi/event-candlesticks": epoch("end_period_ts"),
    "kalshi/batch-candlesticks": epoch("end_period_ts"),
    "kalshi/trades": event("created_time", "%Y-%m-%dT%H:%M:%S.123456Z"),
    "polymarket/markets": event("createdAt"),
    "polymarket/market": event("createdAt"),
    "polymarket/events": event("createdAt"),
    "polymarket/event": event("createdAt"),
    "polymarket/search": event("createdAt"),
    "polymarket/tags": event("createdAt"),
    "polymarket/prices-history": epoch("t"),
    "polymarket/batch-prices-history": epoch("t"),
    "polymarket/trades": epoch("timestamp"),
    "wikipedia/page": event("timestamp"),
    "wikipedia/sections": event("timestamp"),
    "wikipedia/revisions": event("timestamp"),
    "wikipedia/search": event("timestamp"),
    "wikipedia/pageviews": lambda m: Fact(
        {"timestamp": m.strftime("%Y%m%d00")}, at(m.date() + DAY, time(12), UTC), 2 * DAY
    ),
    "yfinance/history": lambda m: Fact(
        {"timestamp": int(at(ny(m).date(), time(9, 30)).timestamp())}, at(ny(m).date(), time(16))
    ),
    "yfinance/actions": lambda m: Fact(
        {"date": int(at(ny(m).date(), time(9, 30)).timestamp())}, at(ny(m).date(), time(9, 30)), DAY
    ),
    "yfinance/fundamentals": lagging("asOfDate", 35, 100, periodType="3M"),
    "yfinance/search": epoch("firstTradeDate"),
    "yfinance/lookup": epoch("firstTradeDate"),
    "yfinance/upgrades-downgrades": epoch("epochGradeDate"),
    "yfinance/earnings-dates": event("startdatetime", "%Y-%m-%dT%H:%M:%S.000Z", UTC, DAY),
    "yfinance/news": event("pubDate"),
    "dbnomics/release": lambda m: Fact({}, m),
    # New York's clock with a Z behind it
    "sec/submissions": event("acceptanceDateTime", "%Y-%m-%dT%H:%M:%S.000Z", NY),
    "sec/company-concept": day_only("filed"),
    "sec/company-facts": day_only("filed"),
    "sec/search": day_only("file_date"),
    "gdelt/documents": event("seendate", "%Y%m%dT%H%M%SZ", slack=DAY),
    "exa/search/search": event("publishedDate", "%Y-%m-%dT%H:%M:%S.000Z"),
    "exa/search/findsimilar": event("publishedDate", "%Y-%m-%dT%H:%M:%S.000Z"),
    "brave/web": event("page_age", "%Y-%m-%dT%H:%M:%S", UTC, timedelta(hours=6)),
    "brave/news": event("page_age", "%Y-%m-%dT%H:%M:%S", UTC, timedelta(hours=6)),
    "serper/search": day_only("date"),
    "tavily/search": event("published_date", "%a, %d %b %Y %H:%M:%S GMT"),
    "searxng/search": event("publishedDate", "%Y-%m-%dT%H:%M:%S", UTC, timedelta(days=1, seconds=2)),
    "wayback/captures": event("timestamp", "%Y%m%d%H%M%S"),
    "wayback/page": event("timestamp", "%Y%m%d%H%M%S"),
    "fred/releases/release/dates": day_only("date"),
}


def writer_of(path: str) -> Writer | None:
    if path.startswith("fmp/"):
        return next(writer for pattern, writer in FMP if re.search(pattern, path))
    return OTHER.get(path)
