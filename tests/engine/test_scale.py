"""A thousand leaves: what is written stays small, and the event loop is never held for long."""

import asyncio
import gc
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest

from benchmarks.engine_scale import Scale, measure
from tests.fakes.asking_run import open_run
from workbench.engine.record import recorder as files_module
from workbench.engine.record.fold import load_state
from workbench.engine.record.recorder import RunFiles
from workbench.store import Store
from workbench.store import events as ev

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


@pytest.mark.parametrize(("seconds", "writes"), [(0.0, 50), (0.5, 7)])
async def test_a_tree_that_takes_long_to_write_is_written_rarely(
    tmp_path: Path, seconds: float, writes: int
) -> None:
    """A leaf a second for a hundred seconds: ``tree.json`` every two, or after thirty times what the last one took."""
    now, written = [0.0], 0

    def write(path: Path, value: object) -> None:
        nonlocal written
        written += 1
        now[0] += seconds

    with closing(Store(tmp_path)) as store, patch.object(files_module, "write_atomically", write):
        state = load_state(store, open_run(store))
        files = RunFiles(store, clock=lambda: now[0])
        for _ in range(100):
            files.follow(
                state,
                ev.NodeSynthesized(node="P0", rule={}, p=0.5, key_factor="", report="sha256:" + "0" * 64),
            )
            await files.written()
            now[0] += 1.0
    assert abs(written - writes) <= 1
