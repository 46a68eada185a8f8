"""A run that is copied for a package keeps the order in which its calls were made."""

from pathlib import Path

from tests.fakes.small_run import RUN, make_small_run
from tests.fakes.stored_run import RunWriter
from workbench.store import ApiLedger, Store
from workbench.store.transfer import copy_run_into


def test_calls_that_ran_side_by_side_keep_their_places(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    store = Store(tmp_path / "home")
    try:
        # later calls at earlier addresses, as those of a search are: their last part follows from what is asked
        for retry in (9_000_000_000_000, 7, 300_000_000_000_000):
            RunWriter(store, RUN).call("P1", [], stage="tool", retry=retry, path=f"x/{retry}")
        made = [row.path for row in ApiLedger(store).rows(RUN)]
        (tmp_path / "copy").mkdir()
        copy_run_into(store, RUN, tmp_path / "copy")
    finally:
        store.close()
    copy = Store(tmp_path / "copy")
    try:
        assert [row.path for row in ApiLedger(copy).rows(RUN)] == made
    finally:
        copy.close()
