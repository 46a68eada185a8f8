"""A thousand leaves: what is written stays small, and the event loop is never held for long."""

import asyncio
import gc
from pathlib import Path

import pytest

from benchmarks.engine_scale import Scale, measure

pytestmark = pytest.mark.long


def work(home: Path, leaves: int) -> Scale:
    return asyncio.run(measure(home, leaves=leaves))


def test_a_thousand_leaves_write_little_and_never_hold_the_loop(tmp_path: Path) -> None:
    work(tmp_path / "warm", 3)  # the first run of a process imports what renders notebooks and reports
    # what other tests left in this process is not the engine's: a full collection over it takes half a second
    gc.collect()
    gc.freeze()
    try:
        scale = work(tmp_path / "wide", 1000)
    finally:
        gc.unfreeze()
    assert scale.written_files + scale.database < 60e6
    assert scale.longest < 3 * 0.050
    assert scale.longest > 0
    assert len(list((tmp_path / "wide").rglob("*.ipynb"))) == 1000
