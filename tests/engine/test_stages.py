"""What a run in work is at, in words and as a share, and the time left by past runs of its kind."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import RUN, make_run
from workbench.cli.run.terminal_progress import TerminalProgress, shown_progress
from workbench.engine.record.fold import load_state
from workbench.engine.record.progress import print_progress
from workbench.engine.record.stages import LeafPace, Stages, pace_of, replay
from workbench.engine.record.state import RunState
from workbench.propositions import Belief, Tree
from workbench.store import Store
from workbench.store import events as ev


def step(number: int, about: str = "Past windows") -> ev.LeafStep:
    return ev.LeafStep(node="P0", trial=1, attempt=1, number=number, what="step", about=about, model="m")


def in_work() -> RunState:
    tree = Tree.root_only("It rains by Friday")
    # What the fold reads of a state, and no store behind it.
    return SimpleNamespace(tree=tree, planned=True, finished=False)  # type: ignore[return-value]


def with_evidence(state: RunState) -> RunState:
    state.tree = state.tree.with_belief("P0", Belief(p=0.3, key_factor="", report=""))
    return state


PACE = LeafPace(replies=5, seconds=4)


@given(replies=st.integers(0, 40), usual=st.floats(0.5, 20))
def test_the_share_never_falls_and_is_whole_with_the_evidence_alone(replies: int, usual: float) -> None:
    state, stages = in_work(), Stages(LeafPace(replies=usual, seconds=3))
    shares = [stages.share(state)]
    for number in range(1, replies + 1):
        stages.take(step(number))
        shares.append(stages.share(state))
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] < 1.0
    assert stages.share(with_evidence(state)) == 1.0


def test_the_pace_is_that_of_finished_runs_with_this_model_and_grounder(store: Store, tmp_path: Path) -> None:
    make_run(tmp_path)
    state = load_state(store, RUN)
    assert pace_of(store, state) is None, "a run is no past run of its own"
    later = SimpleNamespace(run_id="later", settings=state.settings)
    found = pace_of(store, later)  # type: ignore[arg-type]
    steps = sum(isinstance(each.event, ev.LeafStep) for each in store.events(RUN))
    assert found is not None and found.replies == steps / 6
    assert found.seconds == pytest.approx(state.worked_seconds / 6)
    other = SimpleNamespace(run_id="later", settings=SimpleNamespace(model="other", grounder="x"))
    assert pace_of(store, other) is None  # type: ignore[arg-type]
    assert replay(Stages(), store.events(RUN)).words == {}, "a finished run is at nothing"


def test_a_terminal_is_drawn_on_and_a_file_gets_lines(store: Store, tmp_path: Path) -> None:
    from rich.console import Console

    make_run(tmp_path)
    with shown_progress(store) as listener:
        assert listener is print_progress, "stderr of a test is no terminal"
    progress = TerminalProgress(store)
    state = load_state(store, RUN)
    state.finished = False
    (stored, *_) = [each for each in store.events(RUN) if isinstance(each.event, ev.LeafStarted)]
    progress(state, stored)
    written = io.StringIO()
    Console(file=written, width=100).print(progress)
    text = written.getvalue()
    assert "6 of 6 drivers have evidence" in text and "opening its notebook" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_leaf_says_what_it_is_at_and_nothing_once_it_has_its_evidence() -> None:
    stages = Stages(PACE)
    stages.take(ev.LeafStarted(node="P0", trial=1, attempt=1))
    assert stages.words == {"P0": "opening its notebook"}
    for number in (1, 2, 3):
        stages.take(step(number))
    assert stages.words == {"P0": "step 3 of 5: Past windows"}
    for number in (4, 5, 6):
        stages.take(step(number, about=""))
    assert stages.words == {"P0": "step 6 of 6: step"}, (
        "a leaf that takes longer than usual is not past its end"
    )
    stages.take(ev.LeafPooled(node="P0", p=0.5, key_factor="", report="sha256:" + "0" * 64, trials=(0.5,)))
    assert stages.words == {}
    unpaced = Stages()
    unpaced.take(step(1))
    assert unpaced.words == {"P0": "step 1: Past windows"}
