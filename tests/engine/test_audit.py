"""What the audit says of the dates in a run's data: the last day before the cutoff passes, the next one is named."""

from pathlib import Path

import pytest

from proxies.ledger import Address, Answer, LedgerRow
from tests.fakes.small_run import ASKED, CUTOFF, PATH, RUN, make_small_run
from workbench.engine import documents
from workbench.store import ApiLedger, Store


def dates_check(home: Path, *days: str) -> tuple[str, str]:
    """Verdict and words of the audit of a run that read rows of these days besides its own."""
    make_small_run(home)
    store = Store(home)
    try:
        ApiLedger(store).record(
            LedgerRow(
                address=Address(run=RUN, node="P1", trial=1, attempt=1, stage="cell", step=7, retry=0),
                at_utc="2026-01-01T00:00:00Z",
                path=PATH,
                asked=ASKED,
                sent=[],
                cutoff=CUTOFF,
                answer=Answer(data=[{"date": day, "value": 1.0} for day in days], meta={}),
                refused=None,
                request_hash="sha256:" + "2" * 64,
            )
        )
        (check,) = [
            check for check in documents.audit(store, RUN)["checks"] if check["name"] == "dates in answers"
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
