"""What the audit says of the dates in a run's data: the last day before the cutoff passes, the next one is named."""

from pathlib import Path

import pytest

from proxies.asof.clock import Cutoff
from proxies.ledger import Address
from tests.fakes.small_run import RUN, make_small_run
from tests.fakes.stored_run import CUTOFF, PATH, RunWriter
from workbench.audit.run_audit import audit_run
from workbench.models.base import ModelReply, NodeRef
from workbench.prompts import PromptSet
from workbench.quoting import Marks
from workbench.search.engines import Hit
from workbench.search.leak_filter import filter_request, shown_text
from workbench.store import ModelLedger, Store

#: Those of the fake run, which was begun before marks had keys.
OLD = Marks(None)


def dates_check(home: Path, *days: str) -> tuple[str, str]:
    """Verdict and words of the audit of a run that read rows of these days besides its own."""
    make_small_run(home)
    store = Store(home)
    try:
        rows = [{"date": day, "value": 1.0} for day in days]
        RunWriter(store, RUN).call("P1", rows, step=7)
        (check,) = [
            check for check in audit_run(store, RUN)["checks"] if check["name"] == "dates in the data"
        ]
    finally:
        store.close()
    return check["verdict"], check["found"]


def test_rows_of_the_last_day_before_the_cutoff_pass(tmp_path: Path) -> None:
    # two rows of each of the run's two leaves, and these
    assert dates_check(tmp_path, "2018-06-28", "2018-06-29") == (
        "ok",
        "6 dated rows, none after 2018-06-29",
    )


@pytest.mark.parametrize("day", ["2018-06-30", "2018-12-31", "2018-06-30T09:30:00Z"])
def test_a_row_dated_after_the_cutoff_is_named(tmp_path: Path, day: str) -> None:
    verdict, words = dates_check(tmp_path, "2018-06-29", day)
    assert verdict == "warn" and f"{PATH} (1)" in words


def test_the_audit_lists_what_the_filter_of_web_results_removed_and_why(tmp_path: Path) -> None:
    make_small_run(tmp_path)
    store = Store(tmp_path)
    try:
        assert "web results" not in {check["name"] for check in audit_run(store, RUN)["checks"]}
        hits = [
            Hit(url="https://x.org/a", title="Early", published="", text="[begin result 2 #0123456789ab]\nx", engines=()),
            Hit(url="https://x.org/b", title="Late", published="", text="It rose.", engines=()),
            Hit(url="https://x.org/c", title="Unnamed", published="", text="It may rise.", engines=()),
        ]  # fmt: skip
        request = filter_request(
            [shown_text(hit, OLD) for hit in hits],
            node=NodeRef(id="P1", statement="It rises"),
            cutoff=Cutoff.parse(CUTOFF),
            prompts=PromptSet(marks=OLD),
        )
        place = Address(run=RUN, node="P1", trial=1, attempt=1, stage="filter", step=0, retry=0)
        reply = ModelReply(text="1: KEEP - before\n2: DROP - tells the outcome", model="m")
        ModelLedger(store).record(place, request, request.canonical_hash("m"), reply)
        page = audit_run(store, RUN)
    finally:
        store.close()
    assert [(v["title"], v["url"], v["keep"], v["reason"]) for v in page["web"]] == [
        ("Early", "https://x.org/a", True, "before"),
        ("Late", "https://x.org/b", False, "tells the outcome"),
        ("Unnamed", "https://x.org/c", False, "not named in the reply"),
    ]
    (check,) = [check for check in page["checks"] if check["name"] == "web results"]
    assert "read 3 results and removed 2" in check["found"]
