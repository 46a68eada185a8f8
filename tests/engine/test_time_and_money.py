"""Where a run's time and money went: the time of leaves over sittings, and the parts of the work."""

from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.small_run import RUN, make_small_run
from workbench.engine.record.fold import fold
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.store import Event, Store, StoredEvent
from workbench.store import events as ev
from workbench.views.run_view import load_run
from workbench.widgets import panels

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


def test_the_parts_of_a_small_run_are_told_by_every_screen(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    spent = load_run(tmp_path / "home", RUN).time_and_money()
    parts = {part["name"]: part for part in spent["parts"]}
    assert list(parts) == ["models", "kernels", "data", "checks", "waiting"]
    # A cell of 0.01 s in each of two leaves, one reply and one data call each (tests/fakes/small_run.py).
    assert parts["kernels"]["seconds"] == pytest.approx(0.02) and parts["kernels"]["count"] == 2
    assert parts["models"]["count"] == 2 and parts["data"]["count"] == 2 and parts["checks"]["count"] == 2
    assert sum(part["share"] for part in parts.values()) == pytest.approx(1)
    done = run_cli(tmp_path, "audit", RUN)
    assert all(f"\n{name} " in done.stdout for name in parts), done.stdout
    assert run_cli(tmp_path, "audit", RUN, "--json").stdout.count('"worked_seconds"') == 1
    page = panels.time_and_money(spent)
    assert all(f'data-part="{name}"' in page for name in parts)
