"""SEC EDGAR: filings by the minute, figures as first stated, and nothing of what EDGAR holds today."""

from typing import Any

import pytest

from proxies.errors import ParameterInvalid, SourceRejected
from proxies.settings import ProxySettings
from proxies.vendors.base import AGENT
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.proxies.conftest import asker
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read

#: Apple's annual report of 2019 (0000320193-19-000119): accepted on 30 October at 18:12:36 New York time, filed as of the 31st.
ACCESSION = "0000320193-19-000119"
REPORT = {
    "accessionNumber": ACCESSION, "filingDate": "2019-10-31", "reportDate": "2019-09-28", "form": "10-K",
    "acceptanceDateTime": "2019-10-30T18:12:36.000Z", "items": "", "primaryDocument": "a10-k20199282019.htm",
}  # fmt: skip
#: Its net income, 55,256 million dollars, as that report and the next one state it.
INCOME = [
    {"start": "2018-09-30", "end": "2019-09-28", "val": 55256000000, "accn": ACCESSION, "fy": 2019, "fp": "FY", "form": "10-K", "filed": "2019-10-31"},
    {"start": "2018-09-30", "end": "2019-09-28", "val": 55256000000, "accn": "0000320193-20-000096", "fy": 2020, "fp": "FY", "form": "10-K", "filed": "2020-10-30", "frame": "CY2019"},
]  # fmt: skip


def filing(number: int, day: str) -> dict[str, Any]:
    return {
        **REPORT,
        "accessionNumber": f"0000320193-{number}",
        "filingDate": day,
        "acceptanceDateTime": f"{day}T08:00:00.000Z",
    }


def columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: [row[name] for row in rows] for name in REPORT}


class Edgar:
    """EDGAR with so many of a company's newest filings in the first file, the others in a second one."""

    def __init__(self, rows: list[dict[str, Any]], recent: int) -> None:
        self.recent, self.older = rows[:recent], rows[recent:]

    def __call__(self, seen: Seen) -> Any:
        if seen.path.endswith("-001.json"):
            return columns(self.older)
        days = sorted(row["filingDate"] for row in self.older)
        files = (
            [{"name": "CIK0000320193-submissions-001.json", "filingFrom": days[0], "filingTo": days[-1]}]
            if days
            else []
        )
        return {
            "cik": "320193",
            "name": "Apple Inc.",
            "tickers": ["AAPL"],
            "filings": {"recent": columns(self.recent), "files": files},
        }


@pytest.mark.parametrize(
    ("cutoff", "visible"),
    [
        ("2019-10-30T18:12:36-04:00", False), ("2019-10-30T18:12:37-04:00", True), ("2019-10-30T18:13:00Z", False),
        ("2019-10-31", True), ("2019-10-30", False),
    ],
)  # fmt: skip
async def test_a_filing_counts_from_its_acceptance_in_new_york(cutoff: str, visible: bool) -> None:
    answer = await Desk(Edgar([REPORT], 1))("sec/submissions", cutoff, cik="320193")
    assert [row["accessionNumber"] for row in answer.data] == [ACCESSION][: int(visible)]
    assert "Apple" not in answer.body.decode()


async def test_of_a_company_with_very_many_filings_a_window_is_wanted() -> None:
    files = [
        {"name": f"f{n}", "filingFrom": f"19{70 + n}-01-01", "filingTo": f"19{70 + n}-12-31"}
        for n in range(26)
    ]
    body = {"filings": {"recent": columns([REPORT]), "files": files}}
    with pytest.raises(ParameterInvalid, match="from and to"):
        await Desk(body)("sec/submissions", "2020-01-01", cik="19617")
    answer = await Desk(lambda seen: body if "CIK" in seen.path else columns([]))(
        "sec/submissions", "2020-01-01", cik="19617", **{"from": "1990-01-01"}, forms=["10-K"]
    )
    assert len(answer.data) == 1


@pytest.mark.parametrize("path", ["sec/company-concept", "sec/company-facts"])
async def test_a_figure_is_the_one_that_was_stated_and_a_later_statement_of_it_does_not_show(
    path: str,
) -> None:
    def body(rows: list[dict[str, Any]]) -> Any:
        concept = {"label": "Net Income", "description": "of today", "units": {"USD": rows}}
        later = {"units": {"USD": [{"end": "2020-09-26", "val": 1, "filed": "2020-10-30"}]}}
        if path.endswith("concept"):
            return {"cik": 320193, "entityName": "Apple Inc.", **concept}
        more = {"LaterTag": later} if len(rows) > 1 else {}
        return {"cik": 320193, "facts": {"us-gaap": {"NetIncomeLoss": concept, **more}}}

    asked = {"cik": "320193"} | (
        {"taxonomy": "us-gaap", "tag": "NetIncomeLoss"} if path.endswith("concept") else {}
    )
    told = [read(await Desk(body(rows))(path, "2019-11-01", **asked)) for rows in (INCOME[:1], INCOME)]
    assert (
        told[0] == told[1] and "55256000000" in told[0] and "frame" not in told[0] and "today" not in told[0]
    )
    assert "552560" not in read(await Desk(body(INCOME))(path, "2019-10-31", **asked)), (
        "the day of filing is not over"
    )
    both = (await Desk(body(INCOME))(path, "2021-01-01", **asked)).body.decode()
    assert both.count("55256000000") == 2


async def test_a_search_is_asked_for_whole_days_and_tells_no_name_of_today() -> None:
    hit = {"_id": f"{ACCESSION}:a.htm", "_source": {"adsh": ACCESSION, "file_date": "2019-10-31", "form": "10-K", "ciks": ["0000320193"], "display_names": ["Apple Inc. (AAPL)"]}}  # fmt: skip
    desk = Desk({"hits": {"total": {"value": 10000}, "hits": [hit]}})
    answer = await desk(
        "sec/search", "2019-11-01T15:00-04:00", q="iPhone", startdt="2019-01-01", ciks=["320193"]
    )
    assert answer.data == [{"document": "a.htm", "adsh": ACCESSION, "form": "10-K", "file_date": "2019-10-31", "ciks": ["0000320193"]}]  # fmt: skip
    query = desk.seen[0].query
    assert (query["enddt"], query["dateRange"], query["ciks"]) == ("2019-10-31", "custom", "0000320193")


async def test_the_contact_of_the_settings_is_told_and_a_refusal_names_it(broker_of: Any) -> None:
    with Upstream(lambda seen: Sent({"units": {"USD": INCOME}})) as edgar:
        settings = ProxySettings.from_environment({"WORKBENCH_CONTACT": "Ada Lovelace ada@example.org"})
        broker = broker_of(upstreams={"sec": edgar.url}, contact=settings.contact)
        ask = asker(broker, "2020-01-01")
        await ask("sec/company-concept", cik="320193", taxonomy="us-gaap", tag="NetIncomeLoss")
    assert edgar.seen[0].headers["user-agent"] == AGENT.format("Ada Lovelace ada@example.org")
    with pytest.raises(SourceRejected, match="WORKBENCH_CONTACT"):
        await Desk(Sent(b"", 403))("sec/search", q="x", startdt="2019-01-01")
    for wrong in ("a\nb: c", "\u00e9", "x" * 201):
        with pytest.raises(ParameterInvalid, match="WORKBENCH_CONTACT"):
            ProxySettings.from_environment({"WORKBENCH_CONTACT": wrong})
