"""Leaves share where data are found: what one has read is offered to its siblings by name, and each call stays its own."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import Limits
from tests.fakes.loop_run import Killed
from tests.fakes.sharing_run import OBSERVATIONS, STEPS, Seeker, first_message, sharing_run
from workbench.engine.leaves.job import GroundJob
from workbench.engine.leaves.shared_calls import rows_line
from workbench.engine.record.fold import load_state
from workbench.store import ApiLedger, Store
from workbench.workers.calls import pack, unpack

FAMILIES = (4, 4, 4)
#: Of one leaf: cells, the end, the conclusion; and the search and the documentation of one that must look for its series.
TOLD, SEEKING = STEPS + 2, STEPS + 4


def test_the_first_of_a_family_looks_for_its_series_and_its_siblings_are_told(
    store: Store, tmp_path: Path
) -> None:
    state, model = sharing_run(tmp_path, *FAMILIES)
    assert len(model.requests) == 3 * SEEKING + 9 * TOLD
    alone = sharing_run(tmp_path / "alone", *FAMILIES, share_calls=False)
    assert len(alone[1].requests) == 12 * SEEKING and alone[0].tree.root.p == state.tree.root.p
    rows = ApiLedger(store).rows(state.run_id)
    # each leaf makes its own call, at its own address
    assert {row.address.node for row in rows} == set(state.tree.leaves())
    assert {row.path for row in rows} == {OBSERVATIONS}
    for leaf in state.tree.leaves():
        offered = state.trial(leaf, 1).known_calls
        first = leaf.endswith(".1")
        series = state.tree[leaf].statement.split()[0]
        assert first or f'"series_id":"{series}"' in offered[0], "its own family's first"
        (shown,) = {
            first_message(request)
            for request in model.requests
            if request.nodes[0].id == leaf and request.stage == "step"
        }
        assert all(line in shown for line in offered) and ("| embedded" in shown) == bool(offered)
        # where data are found, and no value of them
        assert all(re.search(r": \d+ rows, 2017-01-0\d to 2018-06-\d\d$", line) for line in offered)


def test_a_resumed_leaf_is_offered_what_it_was_offered(store: Store, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        sharing_run(tmp_path, *FAMILIES, model=Seeker(dies_at=3 * SEEKING + 20))
    (run_id,) = store.run_ids()
    before = {key: trial.known_calls for key, trial in load_state(store, run_id).trials.items()}
    state, again = sharing_run(tmp_path, *FAMILIES, run_id=run_id)
    assert state.finished and len(again.requests) == 3 * SEEKING + 9 * TOLD - (3 * SEEKING + 20)
    assert all(state.trials[key].known_calls == calls for key, calls in before.items())
    job = GroundJob.of(state, "P1.2", 1, 1, keyed=(), network=False, limits=Limits())
    assert job.begun.known_calls and unpack(pack(job)) == job


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=12), lambda part: st.lists(part) | st.dictionaries(st.sampled_from(["date", "value", "rows"]), part)))  # fmt: skip
def test_any_answer_is_counted_or_passed_over(data: object) -> None:
    line = rows_line(data)
    assert line == "" or line.split()[1].startswith("row")
