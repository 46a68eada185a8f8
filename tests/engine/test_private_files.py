"""Whatever the umask, what the workbench writes into its data folder is for the owner alone."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proxies.atomic import replace_file
from proxies.fetch.cache import RawCache
from tests.fakes.small_run import RUN, write_small_run
from workbench.backtests.claim_backtest import ForecastFile
from workbench.engine.record.fold import load_state
from workbench.packages.export import export_run
from workbench.packages.package import import_run
from workbench.reports.note_page import write_report
from workbench.store import Store


@pytest.fixture
def open_umask() -> Iterator[None]:
    """A umask that closes nothing, as some containers have it."""
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(home: Path) -> list[str]:
    """What below a data folder, itself included, somebody else could open."""
    return sorted(
        str(path.relative_to(home.parent))
        for path in [home, *home.rglob("*")]
        if stat.S_IMODE(path.lstat().st_mode) & 0o077
    )


def test_nothing_in_the_data_folder_is_readable_by_others(tmp_path: Path, open_umask: None) -> None:
    home = tmp_path / "data" / "home"
    write_small_run(home)
    with closing(Store(home)) as store:
        write_report(store, load_state(store, RUN))
        package = tmp_path / "package.zip"
        package.write_bytes(export_run(store, RUN, "zip")[0])
        store.put_body("a write, so that the side files are there")
        names = {path.name for path in home.rglob("*")}
        assert {"workbench.db-wal", "workbench.db-shm", "report.html", "tree.json", "P1.1.1.jsonl"} <= names
        assert readable_by_others(home) == []
    other = tmp_path / "other"
    with closing(Store(other)) as store:
        import_run(store, package)
        assert (other / "runs" / RUN / "proofs" / "P1.ipynb").is_file()
        assert readable_by_others(other) == []
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700


def test_the_cache_of_answers_is_for_the_owner(tmp_path: Path, open_umask: None) -> None:
    cache = RawCache(tmp_path / "made" / "cache.db", 1_000_000)
    cache.find("none", datetime.now(UTC), lambda at: True)
    assert {path.name for path in tmp_path.rglob("*")} >= {"made", "cache.db"}
    assert readable_by_others(tmp_path / "made") == []


def test_a_file_outside_the_data_folder_has_the_mode_of_the_umask(tmp_path: Path, open_umask: None) -> None:
    replace_file(tmp_path / "report.csv", b"x")
    assert stat.S_IMODE((tmp_path / "report.csv").stat().st_mode) == 0o666


def test_a_data_folder_that_its_owner_shares_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o750)
    write_small_run(tmp_path / "home")
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o750
    assert readable_by_others(tmp_path / "home") == ["home"]


def test_what_lies_below_a_data_folder_is_closed_though_nobody_said_so(
    tmp_path: Path, open_umask: None
) -> None:
    home = tmp_path / "home"
    Store(home).close()
    replace_file(home / "studies" / "report.html", b"x")
    ForecastFile(home / "backtests" / "key").add([])
    assert (home / "backtests" / "key" / "forecasts.jsonl").is_file() and readable_by_others(home) == []
