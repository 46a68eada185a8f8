"""Where a run's time and money went: the time of leaves over sittings, and the parts of the work."""

from pathlib import Path

import pytest

from tests.fakes.small_run import RUN
from workbench.engine.record.fold import fold
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.store import Event, Store, StoredEvent
from workbench.store import events as ev

STARTED = ev.RunStarted(
    statement="s",
    cutoff="2018-06-30",
    cutoff_instant="2018-06-30T04:00:00Z",
    settings=RunSettings().to_json(),
)
LEAF = {"node": "P0", "trial": 1}


def folded(store: Store, *events: tuple[int, Event]) -> RunState:
    """The state after events at these seconds."""
    rows = [(0, STARTED), *events]
    return fold(
        store,
        [
            StoredEvent(seq, RUN, f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z", event)
            for seq, (second, event) in enumerate(rows, 1)
        ],
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "empty", durable=False)


def test_a_leafs_time_is_that_of_all_its_attempts_and_sittings(store: Store) -> None:
    def leaf(attempt: int) -> ev.LeafStarted:
        return ev.LeafStarted(**LEAF, attempt=attempt)

    state = folded(
        store,
        (10, leaf(1)),
        (15, ev.LeafFailed(**LEAF, attempt=1, reason="malformed", final=False)),  # 5 s
        (20, leaf(2)),
        (27, ev.RunWaiting(provider="x", reason="503")),  # killed after this: 7 s
        (3000, ev.RunResumed()),
        (3004, ev.LeafWaiting(**LEAF, attempt=2, reason="no answer")),  # 4 s
        (3010, ev.RunStopped(why="outage", detail="")),
        (3100, ev.RunResumed()),
        (3101, ev.RunStopped(why="interrupt", detail="")),  # 1 s
    )
    assert state.trial("P0", 1).until("2026-01-01T10:00:00Z") == pytest.approx(17)
    store.close()
