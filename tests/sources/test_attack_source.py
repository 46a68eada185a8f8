"""What leaks out of a source is named with the line that mends it; a rightly dated one is left alone."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from proxies.catalogue.schema import Residual, exceeds, least_residual
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import own_folder
from tests.sources.test_add_source import added, asked, csv
from workbench.sources.own_store import source_named
from workbench.sources.source_attack import attack_source
from workbench.sources.source_check import check_source

DAYS = pd.date_range("2018-01-01", periods=40, freq="D")


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"day": DAYS, "v": [float(n * n % 17) for n in range(40)], **columns})


def leaks(document: dict[str, Any]) -> str:
    return " | ".join(
        f"{item['words']} -> {item['mend']}" for item in document["findings"] if item["kind"] == "leaks"
    )


async def test_a_rightly_dated_source_withstands(tmp_path: Path) -> None:
    published = [day + pd.Timedelta(3, unit="D") for day in DAYS]
    await added(
        tmp_path, "orders", table(out=published, who=["a", "b"] * 20), date="day", known="out", value="v"
    )
    assert leaks(await check_source(tmp_path, "orders")) == ""
    document = await attack_source(tmp_path, "orders")
    assert leaks(document) == ""
    assert "revised in place" in document["findings"][-1]["words"]


async def test_vintages_withstand_later_revisions_and_nothing_is_said_of_them(tmp_path: Path) -> None:
    frame = pd.concat(
        [
            table(said=DAYS + pd.Timedelta(days, unit="D")).assign(v=lambda f, d=days: f.v + d)
            for days in (2, 9)
        ],
        ignore_index=True,
    )
    await added(tmp_path, "orders", frame, date="day", vintage="said", value="v")
    assert (await attack_source(tmp_path, "orders"))["findings"] == []


async def test_a_lag_before_the_publication_that_stands_beside_is_caught(tmp_path: Path) -> None:
    published = [str((day + pd.Timedelta(9, unit="D")).date()) for day in DAYS]
    await added(tmp_path, "orders", table(published=published), date="day", lag="1d")
    assert "published says 2018-01-10 for the row of 2018-01-01" in leaks(
        await check_source(tmp_path, "orders")
    )
    assert "--known published" in leaks(await attack_source(tmp_path, "orders"))


async def test_a_total_and_a_share_that_count_the_future_are_caught(tmp_path: Path) -> None:
    frame = table()
    frame["total"], frame["share"], frame["n"] = frame.v.sum(), frame.v / frame.v.sum(), 40
    await added(tmp_path, "orders", frame, date="day", lag="1d", value="v")
    found = leaks(await check_source(tmp_path, "orders"))
    assert "total is the sum of v over all rows" in found and "share is the share of the sum of v" in found
    assert "n is the number of all rows" in found and "the column total: leave it out" in found


async def test_static_rows_show_what_comes_later(tmp_path: Path) -> None:
    await added(tmp_path, "orders", table(), date="day", static=True)
    found = leaks(await attack_source(tmp_path, "orders"))
    assert "later rows show" in found and "--static: say when a row became known" in found


async def test_the_wrong_column_for_the_date_is_caught(tmp_path: Path) -> None:
    months = pd.date_range("2015-01-01", periods=30, freq="MS")
    frame = pd.DataFrame({"month": months, "v": [float(n % 7) for n in range(30)]})
    frame["of"] = months
    await added(tmp_path, "orders", frame, date="month", known="of")
    assert "shown before their month is over (2015-01-01 from 2015-01-02 on)" in leaks(
        await check_source(tmp_path, "orders")
    )


async def test_with_the_guards_off_the_attack_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: a query that forgets the cutoff, and a policy that judges nothing."""
    await added(tmp_path, "orders", table(), date="day", lag="1d")

    def static(item: Any) -> dict[str, Any]:
        row = original(item)
        return row | {"as_of": {"policy": "static", "residual": "high"}}

    from proxies.vendors.own import own_catalogue

    original = own_catalogue.own_endpoint
    monkeypatch.setattr(own_catalogue, "own_endpoint", static)
    found = leaks(await attack_source(tmp_path, "orders"))
    assert "later values show" in found and "later revisions show" in found


async def test_a_damaged_copy_is_wrong(tmp_path: Path) -> None:
    await added(tmp_path, "orders", table(), date="day", lag="1d")
    manifest = source_named(tmp_path, "orders")
    (tmp_path / "sources" / "orders" / f"{manifest.version}.parquet").write_bytes(b"PAR1")
    assert "damaged" in (await check_source(tmp_path, "orders"))["findings"][0]["words"]


async def test_a_window_of_many_rows_is_read_without_reading_all(tmp_path: Path) -> None:
    """The copy is in order, in groups, so that a window reads one of them."""
    days = pd.date_range("2000-01-01", periods=160_000, freq="h", tz="UTC")
    await added(tmp_path, "many", csv(tmp_path, "at,v\n" + "".join(f"{day.isoformat()},1.5\n" for day in days)), date="at", lag="1h")  # fmt: skip
    manifest = source_named(tmp_path, "many")
    path = tmp_path / "sources" / "many" / f"{manifest.version}.parquet"
    ((groups,),) = duckdb.sql(
        f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{path}')"
    ).fetchall()
    assert groups >= 3
    assert manifest.grain == "1h" and manifest.added_at <= datetime.now(UTC)


#: How rows are dated, and what the same file says once it was written anew without a day that tells.
DATED: dict[str, dict[str, Any]] = {
    "lag": {"lag": "1d"},
    "known": {"known": "out"},
    "vintage": {"vintage": "out"},
    "static": {"static": True},
}
ANEW: dict[str, Any] = {
    "restated": lambda frame: frame.assign(v=frame.v.where(frame.index > 3, frame.v + 100)),
    "removed": lambda frame: frame.drop(index=[1, 2]),
    "added": lambda frame: pd.concat([frame, frame.tail(1).assign(day=DAYS[-1] + pd.Timedelta(1, unit="D"))]),
}


@pytest.mark.parametrize("dated", DATED)
async def test_an_own_source_lists_just_the_undated_changes_that_show(dated: str, tmp_path: Path) -> None:
    """A row that is added without a day shows where every row counts always; elsewhere it bears a day that the cutoff holds back."""
    frame = table(out=DAYS + pd.Timedelta(2, unit="D"))
    told, paths = {}, {}
    for change, anew in {"": lambda frame: frame, **ANEW}.items():
        home = tmp_path / (change or "before")
        home.mkdir()
        await added(home, "orders", anew(frame), date="day", value="v", **DATED[dated])
        told[change] = (await asked(home, "2018-01-20", {})).body
        paths = ProxySettings(own_folder=own_folder(home), reader="person").catalogue()
    assert b"2018-01-15" in told[""]
    assert set(paths.resolve("own/orders/rows").as_of.open_to) == {
        change for change in ANEW if told[change] != told[""]
    }


@pytest.mark.parametrize("residual", ["none", "low", "medium", "high"])
async def test_the_owners_word_on_the_residual_risk_bounds_what_a_source_is_open_to(
    residual: Residual, tmp_path: Path
) -> None:
    await added(tmp_path, "orders", table(), date="day", lag="1d", residual=residual)
    as_of = ProxySettings(own_folder=own_folder(tmp_path)).catalogue().resolve("own/orders/rows").as_of
    assert as_of.residual == residual and not exceeds(least_residual(as_of.open_to), residual)
    assert bool(as_of.open_to) == (residual != "none")
