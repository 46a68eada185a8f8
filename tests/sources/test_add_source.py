"""A file of one's own is read strictly, shown, and copied whole or not at all."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.catalogue import api_doc
from proxies.catalogue.docs import api_map
from proxies.errors import CutoffRefused, Refused, UnknownPath
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import own_folder, own_sources, versions
from workbench.errors import UsageError
from workbench.mcp.client_home import ClientHome, VisibleRuns
from workbench.mcp.client_operations import ApiDocs
from workbench.mcp.mcp_tools import tools
from workbench.operations.base import Home
from workbench.operations.endpoints import Apis
from workbench.questions.series.series_reference import SeriesRef
from workbench.sources.new_source import NewSource, SourceRequest, new_source
from workbench.sources.own_store import list_sources, store_source
from workbench.sources.source_origin import open_source

MONTHS = ["2018-01-01", "2018-02-01", "2018-03-01", "2018-04-01", "2018-05-01", "2018-06-01"]


async def added(home: Path, name: str, where: object, **said: object) -> NewSource:
    new = await open_source(home, name, where, said, environ={})  # type: ignore[arg-type]
    store_source(home, new)
    return new


async def asked(home: Path, cutoff: str, params: dict[str, object], *, name: str = "orders", reader: str = "model", at: datetime | None = None) -> Answer:  # fmt: skip
    broker = open_broker(ProxySettings(own_folder=own_folder(home), own_at=at, reader=reader))  # type: ignore[arg-type]
    try:
        session = broker.session(Cutoff.parse(cutoff), MemoryLedger())
        address = Address(run="t", node="-", trial=0, attempt=0, stage="call", step=0, retry=0)
        return await session.call(f"own/{name}/rows", params, address)
    finally:
        await broker.aclose()


def csv(folder: Path, text: str | bytes, name: str = "orders.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def monthly(folder: Path) -> Path:
    return csv(folder, "day,orders\n" + "".join(f"{day},{n}.5\n" for n, day in enumerate(MONTHS)))


async def test_a_lag_counts_from_the_end_of_a_months_period(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d")
    seen = (await asked(tmp_path, "2018-04-03", {"column": "orders"})).data
    assert [row["date"] for row in seen] == ["2018-01-01", "2018-02-01"]
    later = (await asked(tmp_path, "2018-04-04", {})).data
    assert later[-1] == {"date": "2018-03-01", "orders": 2.5}


async def test_a_day_column_counts_from_the_next_day_and_an_instant_just_after_itself(tmp_path: Path) -> None:
    days = csv(tmp_path, "day,v,out\n2018-01-31,1,2018-02-10\n2018-02-28,2,2018-03-10\n")
    await added(tmp_path, "orders", days, date="day", known="out")
    assert (await asked(tmp_path, "2018-03-10", {})).data[-1]["date"] == "2018-01-31"
    assert (await asked(tmp_path, "2018-03-11", {})).data[-1]["date"] == "2018-02-28"
    instants = csv(
        tmp_path, "day,v,out\n2018-01-31,1,2018-02-10T12:00:00Z\n2018-02-28,2,2018-03-10T12:00:00Z\n", "i.csv"
    )
    await added(tmp_path, "exact", instants, date="day", known="out")
    assert len((await asked(tmp_path, "2018-03-10T12:00:00Z", {}, name="exact")).data) == 1
    assert len((await asked(tmp_path, "2018-03-10T12:00:01Z", {}, name="exact")).data) == 2


async def test_of_vintages_each_cutoff_sees_what_was_said_then(tmp_path: Path) -> None:
    rows = "day,v,said\n2018-01-31,1,2018-02-10\n2018-01-31,1.5,2018-03-10\n2018-02-28,2,2018-03-10\n2018-01-31,9,2018-09-01\n"
    await added(tmp_path, "orders", csv(tmp_path, rows), date="day", vintage="said", value="v")
    for cutoff, values in (("2018-03-01", [1]), ("2018-04-01", [1.5, 2]), ("2018-09-02", [9, 2])):
        answer = await asked(tmp_path, cutoff, {"column": "v"})
        assert [row["value"] for row in answer.data] == values
        assert "2018-09" not in json.dumps(answer.data) or cutoff == "2018-09-02"
    earlier = await asked(tmp_path, "2018-09-02", {"column": "v", "known_by": "2018-03-01"})
    assert [row["value"] for row in earlier.data] == [1]


@pytest.mark.parametrize(("cutoff", "last"), [("2018-05-15", 10.0), ("2018-06-15", 11.0)])
async def test_a_claim_about_vintages_sees_what_a_call_sees(tmp_path: Path, cutoff: str, last: float) -> None:
    """The column of revisions is no series: own:gdp means the one that holds figures, as it stood."""
    text = "quarter,said,gdp\n2017-10-01,2018-01-28,9\n2018-01-01,2018-04-28,10\n2018-01-01,2018-06-10,11\n"
    await added(tmp_path, "gdp", csv(tmp_path, text), date="quarter", vintage="said")
    ref = SeriesRef.of("own:gdp")
    assert ref is not None
    _, params = ref.call(Cutoff.parse(cutoff).instant)
    answer = await asked(tmp_path, cutoff, params, name="gdp")
    assert ref.rows(answer.data)[-1] == {"date": "2018-01-01", "value": last}


async def test_without_a_cutoff_the_rows_say_nothing_of_our_own_columns(tmp_path: Path) -> None:
    rows = "day,v,said\n2018-01-31,1,2018-02-10\n2018-02-28,2,2018-03-10\n"
    await added(tmp_path, "orders", csv(tmp_path, rows), date="day", known="said", value="v")
    (first, _) = (await asked(tmp_path, "now", {}, reader="person")).data
    assert first == {"date": "2018-01-31", "v": 1.0, "said": "2018-02-10"}


@pytest.mark.parametrize("header", ["Date,v", "v,month", "observation_date,v,note"])
async def test_a_column_that_is_named_as_a_date_dates_the_rows(tmp_path: Path, header: str) -> None:
    columns = header.split(",")
    cells = [{"v": "1", "note": "x"}.get(column, "2018-01-31") for column in columns]
    new = await added(tmp_path, "orders", csv(tmp_path, f"{header}\n{','.join(cells)}\n"), lag="3d")
    assert new.manifest.first == "2018-01-31" and new.manifest.value == "v"


@pytest.mark.parametrize("header", ["a,v", "date,month,v"])
async def test_without_one_such_column_the_columns_are_named(tmp_path: Path, header: str) -> None:
    cells = ",".join(["2018-01-31"] * header.count(",") + ["1"])
    with pytest.raises(UsageError, match="--date COLUMN") as refused:
        await added(tmp_path, "orders", csv(tmp_path, f"{header}\n{cells}\n"), lag="3d")
    assert all(column in str(refused.value) for column in header.split(",")[:-1])


async def test_releases_come_from_a_file(tmp_path: Path) -> None:
    table = csv(
        tmp_path, "day,out\n" + "".join(f"{d},{d[:8]}25\n" for d in (*MONTHS[1:], "2018-07-01")), "r.csv"
    )
    with pytest.raises(UsageError, match="names no release of 2018-01-01"):
        await added(tmp_path, "orders", monthly(tmp_path), date="day", releases=table)
    days = csv(tmp_path, "out\n2018-02-20\n2018-03-20\n2018-04-20\n", "days.csv")
    new = await added(tmp_path, "orders", monthly(tmp_path), date="day", releases=days)
    assert new.manifest.rows == 3
    assert (await asked(tmp_path, "2018-03-21", {})).data[-1]["date"] == "2018-02-01"


async def test_static_is_said_by_name_and_no_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"say when a row of .*--lag 3d.*--known COLUMN.*--vintage COLUMN"):
        await added(tmp_path, "orders", monthly(tmp_path), date="day")
    with pytest.raises(UsageError, match="say in one way"):
        await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d", static=True)
    assert not list_sources(tmp_path)
    await added(tmp_path, "orders", monthly(tmp_path), date="day", static=True)
    assert len((await asked(tmp_path, "2017-01-01", {})).data) == 6


async def test_the_residual_risk_is_high_until_told_otherwise(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d")
    answer = await asked(tmp_path, "2018-07-01", {})
    assert answer.meta["residual"] == "high"
    broker = open_broker(ProxySettings(own_folder=own_folder(tmp_path)))
    session = broker.session(Cutoff.parse("2018-07-01"), MemoryLedger(), strict=True)
    address = Address(run="t", node="-", trial=0, attempt=0, stage="call", step=0, retry=0)
    with pytest.raises(CutoffRefused, match="high residual"):
        await session.call("own/orders/rows", {}, address)
    await broker.aclose()
    await added(tmp_path, "orders", monthly(tmp_path), residual="low")
    assert (await asked(tmp_path, "2018-07-01", {})).meta["residual"] == "low"


async def test_a_changed_file_is_a_new_version_and_earlier_runs_read_theirs(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d")
    same = await open_source(tmp_path, "orders", monthly(tmp_path), {}, environ={})
    assert store_source(tmp_path, same) == versions(own_folder(tmp_path), "orders")[0]
    between = datetime.now(UTC)
    changed = csv(tmp_path, "day,orders\n" + "".join(f"{day},7\n" for day in MONTHS))
    await added(tmp_path, "orders", changed)
    assert len(versions(own_folder(tmp_path), "orders")) == 2
    assert (await asked(tmp_path, "2019-01-01", {})).data[0]["orders"] == 7
    assert (await asked(tmp_path, "2019-01-01", {}, at=between)).data[0]["orders"] == 0.5


async def test_a_source_shared_with_nobody_is_for_no_language_model(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d", share="none")
    with pytest.raises(UnknownPath, match=r"withheld.*no language model"):
        await asked(tmp_path, "2018-07-01", {})
    assert "own/" not in " ".join(ProxySettings(own_folder=own_folder(tmp_path)).catalogue().paths())
    assert (await asked(tmp_path, "2018-07-01", {}, reader="person")).data


async def test_an_own_source_shadows_nothing_and_is_in_the_directory(tmp_path: Path) -> None:
    await added(tmp_path, "fred", monthly(tmp_path), date="day", lag="3d", unit="pieces")
    catalogue = ProxySettings(own_folder=own_folder(tmp_path)).catalogue()
    assert catalogue.resolve("fred/series/observations").source.name == "fred"
    page = api_doc(catalogue, ["own/fred/rows"])
    assert "pieces" in page and "3d after the end" in page
    folder = tmp_path / "catalogue"
    folder.mkdir()
    (folder / "mine.yaml").write_text("source: own\ntitle: t\nabout: a\nendpoints: []\n")
    with pytest.raises(Exception, match="choose another name"):
        ProxySettings(catalogue_folder=folder).catalogue()


async def test_agents_and_people_are_told_of_an_own_source_wherever_data_are_listed(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d", unit="pieces", share="models")
    await added(tmp_path, "secret", monthly(tmp_path), date="day", lag="3d", share="none")
    agents = ProxySettings(own_folder=own_folder(tmp_path), reader="model").catalogue()
    assert "own" in api_map(agents) and "pieces" in api_doc(agents, ["own/orders/rows"])
    assert "own/orders/rows" in agents.paths() and "own/secret/rows" not in agents.paths()
    home = Home(environ={}, folder=tmp_path)
    (listed,) = [row for row in Apis(pattern="own orders").answer(home) if row["path"] == "own/orders/rows"]
    assert listed["obstacle"] == "" and "pieces" in listed["description"]


async def test_an_mcp_client_is_listed_own_sources_that_models_may_see_and_no_other(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d", unit="pieces", share="models")
    await added(tmp_path, "secret", monthly(tmp_path), date="day", lag="3d", share="none")
    runs = VisibleRuns(cutoff=Cutoff.parse("2018-03-01"))
    async with ClientHome(environ={}, folder=tmp_path, runs=runs) as data:
        listed = ApiDocs(words="own orders").told(data) + ApiDocs(words="own secret").told(data)
        assert "own/orders/rows" in listed and "own/secret/rows" not in listed
        assert "pieces" in ApiDocs(paths=["own/orders/rows"]).told(data)
        call = tools()["call_api"]

        async def asked(path: str) -> Any:
            return await call.answer(call.arguments(path=path, params={"column": "orders"}), data)

        answer = await asked("own/orders/rows")
        assert [row["date"] for row in answer["data"]] == ["2018-01-01"]
        with pytest.raises(UnknownPath, match="share"):
            await asked("own/secret/rows")


async def test_the_preview_says_what_three_cutoffs_see(tmp_path: Path) -> None:
    new = await open_source(tmp_path, "orders", monthly(tmp_path), {"date": "day", "lag": "3d"}, environ={})
    preview = new.preview(datetime(2023, 5, 10, tzinfo=UTC))
    assert [(seen["cutoff"], seen["rows"], seen["last"]) for seen in preview["cutoffs"]] == [
        ("2023-05-10", 6, "2018-06-01"),
        ("2022-05-10", 6, "2018-06-01"),
        ("2018-05-10", 4, "2018-04-01"),
    ]
    assert preview["head"][0] == {"date": "2018-01-01", "orders": 0.5} and not own_sources(
        own_folder(tmp_path)
    )


@pytest.mark.parametrize(
    "data", [b"FEA1\x00\xff\xfe\xff", b"ARROW1\xff", b"", b"\xff" * 100, b"out\n\xff\n", None]
)
async def test_a_file_of_releases_that_is_none_is_one_line(data: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "none.csv" if data is None else csv(tmp_path, data, "r.csv")
    with pytest.raises(UsageError) as caught:
        await added(tmp_path, "orders", monthly(tmp_path), date="day", releases=path)
    assert "\n" not in str(caught.value) and not own_folder(tmp_path).exists()


BAD = {
    "no file": (None, {}, "no file"),
    "empty": ("", {}, "is empty"),
    "binary": (b"\x00\x01\x02", {}, "neither CSV nor Parquet"),
    "broken parquet": (b"PAR1 broken", {}, "cannot be read as a table"),
    "header only": ("day,v\n", {}, "no row under its header"),
    "one column": ("day\n2018-01-01\n", {}, "one column only"),
    "no such column": ("when,v\n2018-01-01,1\n", {}, "no column 'day'"),
    "duplicate dates": ("day,v\n2018-01-01,1\n2018-01-02,2\n2018-01-01,3\n", {}, r"2018-01-01 occurs 2 times \(rows 1 and 3\).*--by"),
    "mixed zones": ("day,v\n2018-01-01T10:00:00Z,1\n2018-01-02 10:00:00,2\n", {}, "mixes zones: row 1 .* row 2"),
    "two readings": ("day,v\n03/04/2018,1\n05/06/2018,2\n", {}, "read in two ways.*--date-format"),
    "no date": ("day,v\n2018-01-01,1\nsoon,2\n", {}, "'soon' in row 2"),
    "missing date": ("day,v\n2018-01-01,1\n,2\n", {}, "row 2 has no day"),
    "impossible date": ("day,v\n2018-02-31,1\n", {}, "2018-02-31.*no date"),
    "text for numbers": ("day,v\n2018-01-01,1\n2018-01-02,n/k\n", {"value": "v"}, "'n/k' in row 2"),
    "mixed decimals": ("day;v\n2018-01-01;1,5\n2018-01-02;2.5\n", {"value": "v"}, "decimal commas"),
    "201 columns": ("day," + ",".join(f"c{n}" for n in range(200)) + "\n2018-01-01" + ",1" * 200 + "\n", {}, "201 columns, at most 200"),
    "doubled column": ("day,v,V\n2018-01-01,1,2\n", {}, "two columns named"),
    "lag": ("day,v\n2018-01-01,1\n", {"lag": "soon"}, "write 3d"),
    "zone": ("day,v\n2018-01-01,1\n", {"zone": "Mars"}, "no time zone"),
    "share": ("day,v\n2018-01-01,1\n", {"share": "all"}, "share: 'none', 'models' or 'packages'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
async def test_bad_input_is_one_clear_line_and_nothing_is_half_added(case: str, tmp_path: Path) -> None:
    text, said, words = BAD[case]
    path = csv(tmp_path, text) if text is not None else tmp_path / "none.csv"  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=words) as caught:
        await added(tmp_path, "orders", path, **{"date": "day", "lag": "3d", **said})  # type: ignore[dict-item]
    assert "\n" not in str(caught.value)
    assert not own_folder(tmp_path).exists()


async def test_a_failed_addition_leaves_what_was_there(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d")
    with pytest.raises(UsageError):
        await added(tmp_path, "orders", csv(tmp_path, "day,orders\nsoon,1\n"))
    assert len((await asked(tmp_path, "2019-01-01", {})).data) == 6


async def test_too_large_a_file_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(10_000_000_000)  # a hole: no byte of it is on the disk
    with pytest.raises(UsageError, match=r"10\.0 GB, at most 2 GB"):
        await added(tmp_path, "orders", path, date="day", lag="3d")


async def test_a_byte_order_mark_decimal_commas_and_parquet_are_read(tmp_path: Path) -> None:
    marked = csv(tmp_path, "\ufeffday;v\n2018-01-01;1.234,5\n2018-01-02;2,5\n2018-01-03;3,5\n")
    await added(tmp_path, "marked", marked, date="day", lag="0d")
    rows = (await asked(tmp_path, "2019-01-01", {}, name="marked")).data
    assert [row["v"] for row in rows] == [1234.5, 2.5, 3.5]
    import duckdb

    target = tmp_path / "rows.parquet"
    duckdb.sql(f"COPY (SELECT DATE '2018-01-02' AS day, 2.5 AS v) TO '{target}' (FORMAT parquet)")
    await added(tmp_path, "parquet", target, date="day", lag="0d")
    assert (await asked(tmp_path, "2019-01-01", {}, name="parquet")).data == [
        {"date": "2018-01-02", "v": 2.5}
    ]


async def test_an_answer_holds_as_many_rows_as_it_may_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxies.vendors.own.own_source.MOST_ROWS", 4)
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d")
    with pytest.raises(Refused, match="more than 4 rows there: ask for a window"):
        await asked(tmp_path, "2019-01-01", {})
    # the limit does not count what was not known
    assert len((await asked(tmp_path, "2018-05-10", {})).data) == 4


def _request() -> SourceRequest:
    return SourceRequest(name="far", date="date", value="value", lag="1d")


@pytest.mark.parametrize("day", ["0000-01-01", "9999-12-31", "3000-01-01"])
def test_a_day_that_no_calendar_here_has_is_refused_with_its_row(day: str) -> None:
    frame = pd.DataFrame({"date": ["2018-01-01", day], "value": [1.0, 2.0]})
    with pytest.raises(UsageError, match="row 2: dates lie in the years 1 to 2999"):
        new_source(_request(), frame, origin="far.csv", now=datetime(2026, 1, 1, tzinfo=UTC))


def test_numbers_that_cannot_be_reckoned_with_count_as_missing_and_are_counted() -> None:
    values = [1.0, float("inf"), 1e308, -1e308, 2e99]
    days = ["0001-01-02", "2018-01-02", "2018-01-03", "2018-01-04", "2999-12-31"]
    source = new_source(
        _request(),
        pd.DataFrame({"date": days, "value": values}),
        origin="x",
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert source.rows["value"].notna().tolist() == [True, False, False, False, True]
    assert any("3 cells of value hold no finite number" in note for note in source.notes)
