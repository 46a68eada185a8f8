"""`verify` says which p the re-run concludes, and how far that is from the record."""

from pathlib import Path

import pytest

from sandbox.record.verify import Difference, Verification
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.audit.drift import drift, rerun_probability
from workbench.engine.proof_check import ProofCheck
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.operations.checks import drift_line
from workbench.store import Store
from workbench.synthesis import resynthesize


@pytest.fixture
def state(tmp_path: Path) -> RunState:
    make_run(tmp_path)
    store = Store(tmp_path)
    try:
        return load_state(store, RUN)
    finally:
        store.close()


def checks(state: RunState, printed: dict[str, str]) -> list[ProofCheck]:
    """Every leaf's proof; those in ``printed`` showed something else in the re-run."""
    made = []
    for leaf in state.tree.leaves():
        moved = (Difference(check="rerun", cell="cell-2", what="its stdout is another"),)
        outcome = Verification(
            cells=3,
            advisory=moved if leaf in printed else (),
            printed=(printed.get(leaf, '{"p": 0.123}'),),
        )
        made.append(ProofCheck(node=leaf, trial=1, outcome=outcome))
    return made


def test_a_rerun_that_shows_the_same_concludes_the_same(state: RunState) -> None:
    found = drift(state, checks(state, {}), rerun=True)
    root = demo_tree().root.p
    assert (found["node"], found["p"], found["drift"], found["drifting"]) == ("P0", root, 0.0, [])
    assert drift_line(found) == "P0 65.8% as re-run, 65.8% on record: no drift"


def test_a_leaf_that_prints_another_p_moves_the_claim_by_the_stored_rules(state: RunState) -> None:
    found = drift(state, checks(state, {"P2.1": ["so", '{"p": 0.0, "base_rate": 0.5}'][1]}), rerun=True)
    expected = resynthesize(demo_tree(), {"P2.1": 0.0}).after
    assert found["p"] == expected and found["drift"] == pytest.approx(-0.1)
    assert found["drifting"] == [{"node": "P2.1", "p": 0.0, "recorded_p": 0.5}]
    assert drift_line(found).endswith("drift -10 points (P2.1 50.0% to 0.0%)")


def test_where_records_differ_nothing_is_concluded(state: RunState) -> None:
    found = drift(state, checks(state, {}), rerun=False)
    assert (found["p"], found["drift"]) == (None, None)
    assert "concludes nothing" in drift_line(found)


@pytest.mark.parametrize(
    "line", ['{"p": 1.5}', '{"p": true}', '{"p": "0.5"}', "[0.5]", "p = 0.5", '{"p": NaN}']
)
def test_what_is_no_probability_is_not_taken_for_one(line: str) -> None:
    assert rerun_probability([line]) is None
