"""Real monthly and quarterly values, and real index members, through the emulated vendors: told once they were out."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pytest

from proxies.broker import Broker
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.fakes.upstream_fmp import Change, Fmp, Index
from tests.proxies.conftest import asker
from tests.proxies.leaks.desk import Desk
from tests.proxies.test_real_series import table

pytestmark = pytest.mark.realdata


@dataclass(frozen=True)
class Series:
    """A file's column; ``soonest`` and ``latest`` are days after the period's end at which its value came out."""

    file: str
    column: str
    soonest: int
    latest: int
    frequency: str = "monthly"
    date: str = "Date"
    country: str = ""

    def rows(self, folder: Path) -> dict[str, float]:
        """Values by the first day of their period; a 0 stands for a missing one in recent rows of Shiller's table."""
        return {
            (row[self.date] + "-01")[:10]: float(row[self.column])
            for row in table(folder, self.file)
            if row[self.date] > "2000" and row.get("Country", self.country) == self.country
            and row[self.column] and float(row[self.column])
        }  # fmt: skip


SERIES = {
    # the Bureau of Labor Statistics publishes between the tenth and the twentieth day of the next month
    "CPI": Series("cpi_us_monthly.csv", "Index", 9, 62),
    # monthly means are out when the month is over
    "GOLD": Series("gold_monthly.csv", "Price", 0, 62),
    "US10Y": Series("us10y_monthly.csv", "Rate", 0, 62),
    "SP500": Series("sp500_shiller_monthly.csv", "SP500", 0, 62),
    "EURO": Series("fx_monthly.csv", "Exchange rate", 0, 62, country="Euro"),
    "YEN": Series("fx_monthly.csv", "Exchange rate", 0, 62, country="Japan"),
    # the first estimate comes in the last days of the month after the quarter
    "GDP": Series("gdp_us_quarterly.csv", "level-current", 25, 120, "quarterly", "date"),
    "REAL_GDP": Series("gdp_us_quarterly.csv", "level-chained", 25, 120, "quarterly", "date"),
    "EARNINGS": Series("sp500_shiller_monthly.csv", "Earnings", 0, 62),
}


def end_of(start: date, frequency: str) -> date:
    months = start.month - 1 + (3 if frequency == "quarterly" else 1)
    return date(start.year + months // 12, months % 12 + 1, 1) - timedelta(days=1)


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("cutoff", ["2018-06-12", "2018-08-30", "2023-01-05"])
async def test_a_period_is_told_once_its_value_was_out(
    cutoff: str, name: str, test_data: Path, broker_of: Callable[..., Broker]
) -> None:
    series = SERIES[name]
    rows = series.rows(test_data)
    document = {
        "@frequency": series.frequency, "provider_code": "P", "dataset_code": "d", "series_code": name,
        "period": [day[:7] for day in rows], "period_start_day": list(rows), "value": list(rows.values()),
        "indexed_at": "2026-11-20T00:00:00Z",
    }  # fmt: skip

    def answer(seen: Seen) -> Sent:
        return Sent({"series": {"docs": [document], "num_found": 1, "limit": 1000, "offset": 0}})

    with Upstream(answer) as upstream:
        ask = asker(broker_of(upstreams={"dbnomics": upstream.url}), cutoff)
        told = await ask("dbnomics/series", provider="P", dataset="d", series=name, observations=1)
    [found] = told.data["series"]["docs"]
    known = dict(zip(found["period_start_day"], found["value"], strict=True))
    assert known.items() <= rows.items() and "indexed_at" not in found and known
    now = date.fromisoformat(cutoff)
    for day in rows:
        end = end_of(date.fromisoformat(day), series.frequency)
        if end + timedelta(days=series.soonest) >= now:
            assert day not in known
        if end + timedelta(days=series.latest) < now:
            assert day in known


@pytest.mark.parametrize("cutoff", ["2005-01-03", "2018-06-30", "2024-09-23", "2024-09-24"])
async def test_real_members_are_rolled_back_to_the_cutoff(cutoff: str, test_data: Path) -> None:
    """The file holds the members of 2026 with the day each joined; who left since it does not say."""
    joined = {row["Symbol"]: row["Date added"] for row in table(test_data, "sp500_constituents.csv")}
    record = [Change(day, joined=name) for name, day in joined.items() if day > "1990"]
    index = Index(began={name: day for name, day in joined.items() if day <= "1990"}, changes=record)
    answer = await Desk(Fmp(index=index))("fmp/indexes/constituents/sp500-constituent", cutoff=cutoff)
    assert {row["symbol"]: row["dateAdded"] for row in answer.data} == {
        name: day for name, day in joined.items() if "1990" < day < cutoff
    }
    # Dell and Palantir joined on 23 September 2024
    assert ("PLTR" in {row["symbol"] for row in answer.data}) == (cutoff == "2024-09-24")
