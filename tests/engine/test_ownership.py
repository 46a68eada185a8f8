"""One process works on a run; a second one is told who does, and another writer's line is never followed by one of ours."""

import fcntl
import os
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sandbox.errors import AnotherWriter
from sandbox.record.journal import Journal, read_lines
from tests.fakes.screens import demo_tree
from tests.fakes.small_run import RUN, make_small_run
from tests.fakes.stored_run import write_tree_run
from workbench.engine.detached import stop_run
from workbench.engine.ownership import LOCK_NAME, RunInWork, own_folder, own_run, owner_of
from workbench.engine.record.fold import load_state
from workbench.reports.note_content import note_of
from workbench.reports.note_tree import Text
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_overview import listed_runs
from workbench.views.run_view import load_run

#: Owns a run, and told to end takes its name out of the file a while before it lets go of the lock.
SLOW_TO_END = """
import os, signal, sys, time
from pathlib import Path
from workbench.engine.ownership import LOCK_NAME, own_run

def end(*_):
    os.truncate(Path(sys.argv[1]) / LOCK_NAME, 0)
    time.sleep(0.7)
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
with own_run(Path(sys.argv[1])):
    print("owned", flush=True)
    time.sleep(60)
"""


def test_who_holds_a_run_is_named_to_everybody_else(tmp_path: Path) -> None:
    folder = tmp_path / "20180630-120000-aced"
    assert owner_of(folder) is None
    with own_run(folder):
        owner = owner_of(folder)
        assert owner is not None and owner.pid == os.getpid() and owner.since_utc
        with (
            pytest.raises(
                RunInWork, match=rf"process {os.getpid()} since 20.* UTC.*workbench watch"
            ) as told_no,
            own_run(folder),
        ):
            pass
        assert told_no.value.exit_code == 2
    assert owner_of(folder) is None
    with own_run(folder):  # free again
        assert owner_of(folder) is not None


def test_a_lock_file_that_is_left_behind_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text('{"pid": 1, "since_utc": "x", "host": "y"}')
    assert owner_of(tmp_path) is None
    with own_run(tmp_path):
        pass


def test_a_run_is_stopped_when_its_process_has_let_go_of_it(store: Store, tmp_path: Path) -> None:
    make_small_run(tmp_path)
    folder = store.folder(RUN)
    with subprocess.Popen([sys.executable, "-c", SLOW_TO_END, str(folder)], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None and owner.stdout.readline() == b"owned\n"
        assert stop_run(store, RUN)
        assert owner_of(folder) is None and not stop_run(store, RUN)


def test_a_journal_that_grew_under_its_writer_takes_no_line_of_ours(tmp_path: Path) -> None:
    ours = Journal(tmp_path / "P1.1.1.jsonl")
    ours.append("open", name="P1.1.1")
    other = Journal(ours.path)
    other.append("markdown", id="cell-001", source="theirs")
    with pytest.raises(AnotherWriter, match="another writer"):
        ours.append("markdown", id="cell-001", source="ours")
    # The chain is whole: the stranger's line stands, ours was never written.
    assert [line["kind"] for line in read_lines(ours.path)] == ["open", "markdown"]
    other.append("close")
    ours.close()
    other.close()
    assert len(read_lines(ours.path)) == 3


def test_a_holder_that_has_not_said_who_it_is_is_waited_for(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / LOCK_NAME, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    says = threading.Timer(
        0.1, os.pwrite, (descriptor, b'{"pid": 7, "since_utc": "2026-01-01", "host": "h"}', 0)
    )
    says.start()
    with pytest.raises(RunInWork, match="it is running: process 7"), own_folder(tmp_path, what="it"):
        pass
    says.join()
    os.close(descriptor)


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
