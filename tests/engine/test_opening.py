"""What is refused before a run is opened for it."""

from pathlib import Path

import pytest

from proxies.asof.clock import Cutoff
from workbench.engine.new_run import MAX_STATEMENT, check_statement, new_run
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.store import Store


def test_a_statement_of_six_hundred_characters_is_taken_and_one_more_is_not(tmp_path: Path) -> None:
    assert check_statement("x" * 600) == "x" * 600
    with pytest.raises(UsageError, match="has 601 characters, at most 600 are taken: state one claim"):
        check_statement("x" * 601)
    store = Store(tmp_path)
    try:
        with pytest.raises(UsageError):
            new_run(store, "x" * (MAX_STATEMENT + 1), Cutoff.parse("2018-06-30"), RunSettings())
        assert list(store.run_ids()) == []
    finally:
        store.close()


def test_white_space_is_folded_before_it_is_counted() -> None:
    assert check_statement("  it   rains \n") == "it rains"
    assert check_statement("x" + " " * 600 + "y") == "x y"
    with pytest.raises(UsageError, match="empty"):
        check_statement(" \n")
