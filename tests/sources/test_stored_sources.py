"""What a stored run reads stays, and what its owner does not share with packages leaves the home in none."""

import json
import math
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from proxies.ledger import Address, Answer, LedgerRow
from proxies.vendors.own.own_manifest import own_folder, own_sources, versions
from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from tests.sources.test_add_source import added, csv, monthly
from workbench.errors import UsageError
from workbench.packages.export import export_run
from workbench.sources.own_store import discard_unused, first_shared, remove_source, runs_with
from workbench.store import ApiLedger, Store
from workbench.store.removal import remove_run


async def home_with_a_run_that_read(folder: Path, path: str = "own/orders/rows") -> Path:
    await added(folder, "orders", monthly(folder), date="day", lag="3d")
    make_small_run(folder)
    with closing(Store(folder)) as store:
        address = Address(run=RUN, node="P0", trial=1, attempt=1, stage="cell", step=0, retry=0)
        meta = {"endpoint": "own/orders/rows", "content_hash": "sha256:0"}
        ApiLedger(store).record(
            LedgerRow(
                address=address, at_utc=datetime.now(UTC).isoformat(), path=path, asked={}, sent=[], cutoff="2018-06-30",
                answer=Answer(data=[], meta=meta), refused=None, request_hash="sha256:1",
            )
        )  # fmt: skip
    return folder


@pytest.mark.parametrize("path", ["own/orders/rows", "own/rows", "/OWN/orders/rows/"])
async def test_a_package_with_rows_that_are_not_shared_is_refused(path: str, tmp_path: Path) -> None:
    home = await home_with_a_run_that_read(tmp_path, path)
    with closing(Store(home)) as store:
        for to in ("zip", "ipynb"):
            with pytest.raises(UsageError, match=r"not shared with packages \(orders\).*--share packages"):
                export_run(store, RUN, to)
        assert export_run(store, RUN, "md")[0]
        await added(home, "orders", monthly(home), share="packages")
        assert export_run(store, RUN, "zip")[0]


async def test_a_run_that_read_nothing_of_it_is_exported(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d")
    make_small_run(tmp_path)
    with closing(Store(tmp_path)) as store:
        assert export_run(store, RUN, "zip")[0]


async def test_versions_that_a_run_reads_outlive_replacement_removal_and_gc(tmp_path: Path) -> None:
    home = await home_with_a_run_that_read(tmp_path)
    folder = own_folder(home)
    await added(home, "orders", csv(home, "day,orders\n2018-01-01,7\n2018-02-01,8\n"))
    await added(home, "orders", csv(home, "day,orders\n2018-01-01,8\n2018-02-01,8\n"))
    with closing(Store(home)) as store:
        first, second, third = versions(folder, "orders")
        assert runs_with(store, first, second.added_at) == [RUN]
        assert discard_unused(store) == 1  # the second: no run began while it was current
        assert versions(folder, "orders") == [first, third]
        gone, users = remove_source(store, "orders", datetime.now(UTC))
        assert (gone, users) == (1, [RUN]) and not own_sources(folder)
        # the run goes on with what it began with
        began = second.added_at - timedelta(microseconds=1)
        assert own_sources(folder, began)["orders"] == first
        remove_run(store, RUN)
        assert discard_unused(store) == 1 and not (folder / "orders").exists()


async def test_who_sees_it_is_said_until_a_run_has_read_it(tmp_path: Path) -> None:
    await added(tmp_path, "orders", monthly(tmp_path), date="day", lag="3d")
    with closing(Store(tmp_path)) as store:
        assert "openai/x may read it; it goes into no package" in first_shared(store, "openai/x")[0]
        assert first_shared(store, "") == []
    home = await home_with_a_run_that_read(tmp_path)
    with closing(Store(home)) as store:
        assert first_shared(store, "openai/x") == []


@pytest.mark.long
def test_the_commands_go_from_a_file_to_a_removed_source(tmp_path: Path) -> None:
    path = monthly(tmp_path)
    refused = run_cli(tmp_path, "source", "add", "orders", str(path), "--date", "day", "--yes")
    assert refused.returncode == 2 and "say when a row" in refused.stderr
    done = run_cli(tmp_path, "source", "add", "orders", str(path), "--date", "day", "--lag", "3d", "--yes")
    assert "own:orders  6 rows" in done.stdout and "cutoff " in done.stderr
    assert "own:orders" in run_cli(tmp_path, "source", "list").stdout
    called = run_cli(tmp_path, "call", "own/orders/rows", "column=orders", "--cutoff", "2018-03-01")
    assert '"2018-01-01"' in called.stdout and '"2018-02-01"' not in called.stdout
    assert run_cli(tmp_path, "source", "check", "orders").returncode == 0
    assert "removed orders" in run_cli(tmp_path, "source", "remove", "orders", "--yes").stdout
    assert run_cli(tmp_path, "source", "show", "orders").returncode == 2


@pytest.mark.long
@pytest.mark.parametrize(("cutoff", "known", "unknown"), [("2018-06-30", 173.25, 191.75), ("2018-08-15", 191.75, 173.25)])  # fmt: skip
def test_cells_an_agent_a_claim_and_a_page_know_the_vintage_of_their_cutoff(
    tmp_path: Path, cutoff: str, known: float, unknown: float
) -> None:
    """May 2018 is published as 173.25 on 20 June and revised to 191.75 on 10 August."""
    months = [date(2003 + n // 12, n % 12 + 1, 1) for n in range(184)]
    rows = [
        f"{day},{day + timedelta(days=50)},{150 + 10 * math.sin(n) + n / 50:.2f}"
        for n, day in enumerate(months)
    ]
    rows += ["2018-05-01,2018-06-20,173.25", "2018-05-01,2018-08-10,191.75"]
    path = tmp_path / "orders.csv"
    path.write_text("month,said,orders\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert run_cli(tmp_path, "source", "add", "orders", str(path), "--date", "month", "--vintage", "said", "--yes").returncode == 0  # fmt: skip
    claim = f"own:orders is above 160 on {'2018-09-30' if cutoff < '2018-08' else '2018-10-31'}"
    done = run_cli(tmp_path, "analyze", claim, "--cutoff", cutoff, "--json")
    assert done.stdout, done.stderr
    run = json.loads(done.stdout)
    called = run_cli(tmp_path, "call", "own/orders/rows", "--cutoff", cutoff).stdout
    evidence = run_cli(tmp_path, "evidence", run["run_id"], run["root"]["id"], "--json").stdout
    page = tmp_path / "note.html"
    assert run_cli(tmp_path, "export", run["run_id"], "--to", "html", "--output", str(page)).returncode == 0
    for said in (called, evidence, page.read_text(encoding="utf-8")):
        assert f"{known}" in said and f"{unknown}" not in said
