"""Cases A20 to A35 and A37 to A39: Financial Modeling Prep."""

from tests.proxies.leaks.desk import EOD, STATEMENT, Desk, bars


async def test_a21_an_end_with_a_time_of_day_is_a_day() -> None:
    desk = Desk(bars("2024-05-30"))
    await desk(EOD, symbol="A", to="2024-05-30 15:00:00")
    assert desk.seen[0].query["to"] == "2024-05-30"


async def test_a22_no_range_an_earlier_range_and_a_later_one() -> None:
    desk = Desk(bars("2024-05-30"))
    assert len((await desk(EOD, symbol="A")).data) == 1
    await desk(EOD, symbol="A", to="2024-03-01")
    assert desk.seen[-1].query == {"symbol": "A", "to": "2024-03-01"}
    later = await desk(EOD, symbol="A", **{"from": "2024-07-01", "to": "2024-08-01"})
    assert later.data == [] and len(desk.seen) == 2


async def test_a26_a_quarter_counts_from_its_filing_not_from_its_end() -> None:
    rows = [
        {"symbol": "A", "date": "2024-05-31", "fiscalYear": "2024", "period": "Q2", "acceptedDate": "2024-08-02 18:01:00", "revenue": 2},
        {"symbol": "A", "date": "2024-02-29", "fiscalYear": "2024", "period": "Q1", "acceptedDate": "2024-04-05 18:01:00", "revenue": 1},
        {"symbol": "A", "date": "2023-11-30", "fiscalYear": "2023", "period": "FY", "acceptedDate": "2024-05-31 22:30:00", "revenue": 3},
    ]  # fmt: skip
    answer = await Desk(rows)(STATEMENT, symbol="A", period="quarter")
    assert [row["revenue"] for row in answer.data] == [1, 3]
    # an acceptance in the evening of the cutoff day itself is late
    rows[2]["acceptedDate"] = "2024-06-01 00:00:00"
    assert [row["revenue"] for row in (await Desk(rows)(STATEMENT, symbol="A", period="quarter")).data] == [1]
