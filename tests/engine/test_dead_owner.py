"""A run whose process was killed: its log ends in the middle, and no screen says that it is running."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.screens import RUN, demo_tree
from tests.fakes.stored_run import write_tree_run
from workbench.engine.ownership import own_run
from workbench.engine.record.fold import load_state
from workbench.reports.note_content import note_of
from workbench.reports.note_tree import Text
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_overview import listed_runs
from workbench.views.run_view import load_run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A run in the middle of its leaves, with nobody at work on it."""
    with closing(Store(tmp_path)) as store:
        tree = demo_tree()
        bare = tree.with_propositions([replace(node, belief=None, rule=None) for node in tree.propositions()])
        write_tree_run(store, RUN, bare).append(ev.LeafStarted(node="P3", trial=1, attempt=1))
    return tmp_path


def states(home: Path) -> set[str]:
    """What every screen calls the run."""
    shown = load_run(home, RUN).document()
    with closing(Store(home)) as store:
        (row,) = listed_runs(store, datetime.now(UTC))
        blocks = note_of(store, load_state(store, RUN)).blocks
        (unfinished,) = (block.text for block in blocks if isinstance(block, Text) and block.tone == "alarm")
    return {str(shown["state"]), str(row["state"]), unfinished.partition("the run is ")[2].partition(";")[0]}


def test_it_is_running_while_its_owner_lives_and_stopped_when_that_is_gone(home: Path) -> None:
    assert states(home) == {"stopped"}
    reason = load_run(home, RUN).document()["reason"]
    assert "ended without a word" in reason and f"workbench resume {RUN}" in reason
    with own_run(home / "runs" / RUN):
        assert states(home) == {"running"}
        assert load_run(home, RUN).document()["reason"] is None
    assert states(home) == {"stopped"}
