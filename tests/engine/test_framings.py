"""Preset ``best``: each trial is asked in another way, a model that reasons thinks, and a reply's prose is kept."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import Limits
from tests.fakes.loop_run import open_run
from workbench.agents.base import FRAMINGS
from workbench.agents.replies.reply_prose import after_earlier, prose_before, with_prose
from workbench.engine.leaves.job import GroundJob
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import with_preset
from workbench.errors import UsageError
from workbench.store import Store
from workbench.workers.calls import pack, unpack

BLOCK = '```json\n{"p_true": 0.6, "key_factor": "k"}\n```'


def framings_of(folder: Path, trials: int, **settings: Any) -> list[str]:
    with closing(Store(folder, durable=False)) as store:
        state = load_state(store, open_run(store))
        state.settings = with_preset(settings.pop("preset", "best"), **settings)
        jobs = [
            GroundJob.of(state, "P0", trial, 1, keyed=(), network=False, limits=Limits())
            for trial in range(1, trials + 1)
        ]
        assert all(unpack(pack(job)) == job for job in jobs), "workers get it too"
        return [job.framing for job in jobs]


def test_trials_of_best_take_the_framings_in_turn_and_those_of_product_none(tmp_path: Path) -> None:
    assert framings_of(tmp_path / "a", 5) == ["outside", "no_first", "yes_first", "outside", "no_first"]
    assert framings_of(tmp_path / "b", 2, preset="product") == ["", ""]
    assert framings_of(tmp_path / "c", 2, framings=["yes_first"]) == ["yes_first"] * 2
    best = with_preset("best")
    assert (best.trials, best.grounder, best.aggregation.pool) == (len(FRAMINGS), "auto", "logit-mean")
    with pytest.raises(UsageError, match="framings are outside, no_first, yes_first, not moods"):
        with_preset("best", framings=["moods"])


@given(st.text("ab. \n", max_size=30))
def test_a_block_alone_stands_behind_the_prose_before_it(prose: str) -> None:
    first = f"{prose}\n\n{BLOCK}"
    assert prose_before(first) == prose.strip()
    joined = with_prose(prose.strip(), BLOCK)
    assert prose_before(joined) == prose.strip() and joined.endswith(BLOCK)
    assert after_earlier([first, BLOCK]) == joined and after_earlier([first, first]) == first
    # a reply with words of its own, or with a report in its block, needs none
    assert with_prose("old", f"new\n\n{BLOCK}") == f"new\n\n{BLOCK}"
    assert with_prose("old", '{"report": "r", "p_true": 0.6}') == '{"report": "r", "p_true": 0.6}'
    assert with_prose("old", "no block") == "no block"
